def measure(machine, report):
    pass
