"""The sample data of `./run serve --sample`: how they are recorded, and how a service is filled with them."""
