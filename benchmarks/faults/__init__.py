"""The benchmark that breaks parts of the service under load and checks that no row is lost."""
