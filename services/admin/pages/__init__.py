"""The pages that show and change what the service knows: one module for each page or section."""
