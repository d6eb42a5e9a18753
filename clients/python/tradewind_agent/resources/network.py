"""The network rate of a process, which nothing here can enforce."""

from tradewind_agent.resources.applied import Advice


def advise_network(nic_bps: float) -> Advice:
    """Return advice, since the kernel shapes interfaces, not processes: a queue would slow all others who use one.

    The engine holds its own rate, and most tools have an option for it; a mover sets that.
    """
    return Advice("nic_bps", nic_bps, "the kernel limits interfaces, not processes; set the tool's own rate option")
