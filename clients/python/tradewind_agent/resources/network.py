"""Network rate of a process: nothing here holds it."""

from tradewind_agent.resources.applied import Advice


def advise_network(nic_bps: float) -> Advice:
    """The kernel shapes interfaces, not processes: a queue on one would slow all others who use it.

    The engine holds its own rate, and most tools have an option for theirs; a mover's is set there.
    """
    return Advice("nic_bps", nic_bps, "the kernel limits interfaces, not processes; set the tool's own rate option")
