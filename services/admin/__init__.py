"""The pages for providers: navigation, rendering, static files, and who may see what."""
