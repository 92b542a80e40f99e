"""Credentials of Microsoft Entra ID, which the tests use with an account only."""


def get_credential(**_):
    return None
