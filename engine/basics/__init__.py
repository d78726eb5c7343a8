"""What every room stands on: errors, frozen values, registries, fingerprints, files and folders."""
