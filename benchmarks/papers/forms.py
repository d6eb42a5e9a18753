"""All claims in the form that the testbed can run, by their id."""

from collections.abc import Mapping

from benchmarks.papers.form import Form
from benchmarks.papers.trials import (
    measured,
    measured_losses,
    measured_packing,
    measured_pages,
    measured_phones,
    measured_services,
)

FORMS: Mapping[str, Form] = {
    id_: form
    for module in (measured, measured_phones, measured_services, measured_packing, measured_pages, measured_losses)
    for id_, form in module.FORMS.items()
}
