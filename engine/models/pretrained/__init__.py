"""Features by small pretrained models, with weights inside ordinary packages: nothing is downloaded or unpickled."""
