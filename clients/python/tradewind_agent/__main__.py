"""``python -m tradewind_agent`` is ``tradewind``."""

from tradewind_agent.cli import main

if __name__ == "__main__":
    main()
