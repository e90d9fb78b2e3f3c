"""As the package: any name can be imported, none can be used."""

from xgrammar import __getattr__  # noqa: F401 - the module's own attribute hook
