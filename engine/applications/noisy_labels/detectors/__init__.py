"""Ways to rank labels by suspicion that estimate no influence, a file each; `METHODS` of `pairs` lists them."""
