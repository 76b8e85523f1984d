def make(maker, emulated):
    return {}
