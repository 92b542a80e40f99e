"""Whether the tests run in Azure."""


def is_live():
    return False
