"""What cgc and the engine say of the commands' flags, in words of this package's arguments."""

_OF_COMPILE = "graph|topology|schedule|inflight|profile|no-warn"
_OF_ENGINE = "inflight|processes|workers|device-map"
# What makes a profile: a command of the package, and in Python.
_PROFILE = ("`cgrun --profile FILE` writes one", "`Engine.profile()` returns one")


def constant(value):
    """A value of Python's as the language writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(constant(each) for each in value)}]"
    return str(value)


def of_compile(said, defines):
    """In words of compile(): `defines={'B': 3}` for -D B=3. What only `flags` can say stays."""
    import re
    for name, value in defines.items():
        said = said.replace(f"-D {name}={constant(value)}", f"`defines={ {name: value} }`")
    said = re.sub(r"-D (\w[\w.]*)=", r"`defines`: \1=", said)  # of a long value the start is shown
    said = said.replace("`-I DIR`", '`include=["DIR"]`')
    said = re.sub(r"cgrun --lib (\S+\.py)", r'`libraries=["\1"]` of Engine', said)
    said = said.replace("cgrun --lib", "`libraries` of Engine")
    said = said.replace("cgrun --device-map", "`device_map` of Engine")
    said = said.replace(*_PROFILE)
    said = re.sub(rf"--({_OF_COMPILE}) ([A-Z]+\.\w+)", r'`\1="\2"`', said)
    said = re.sub(rf"(?<!cgrun )`?--({_OF_COMPILE})\b`?", lambda flag: _argument(flag[1]), said)
    without_help = _without_help(said)
    return said if "--" in without_help else without_help


def of_source(file):
    """What a diagnostic's range is of: the text of a flag is called as the argument is."""
    return {"--topology": "topology", "--schedule": "schedule"}.get(file, file)


def of_plan(said):
    """In words of what Plan's methods take: `color_by` for --color-by."""
    import re
    text = _without_help(said).removeprefix("cgc: error: ").replace(*_PROFILE)
    return re.sub(r"(?<!cgrun )--([a-z]+(?:-[a-z]+)*)", lambda flag: _argument(flag[1]), text)


def of_engine(said):
    """In words of Engine: `libraries=["models.py"]` for --lib models.py."""
    import re
    said = re.sub(r"(?:cgrun )?--lib ([^\s,;]+)", r'`libraries=["\1"]`', said)
    said = re.sub(rf"--({_OF_ENGINE})\b(?: (\d+))?",
                  lambda flag: f"`{flag[1]}={flag[2]}`" if flag[2] else _argument(flag[1]), said)
    return said.replace("cgrun --weights DIR", '`weights="DIR"`')


def _argument(flag):
    return f"`{flag.replace('-', '_')}`"


def _without_help(said):
    """Without the lines that name a command's --help."""
    return "\n".join(line for line in said.splitlines() if not line.startswith("`cgc "))
