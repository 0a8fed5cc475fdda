"""What NetworkPolicies let through, by the rules of their API: nothing in the laboratory enforces them.

A pod is (namespace, labels); a namespace has the one label that every cluster gives it. None stands for
what is no pod: a client outside, the API server.
"""

NAMESPACE_LABEL = 'kubernetes.io/metadata.name'


def matches(selector, labels):
    """Whether a LabelSelector chooses these labels; only matchLabels are known here."""
    if set(selector) - {'matchLabels'}:
        raise AssertionError(f'a selector that this model does not know: {selector}')
    return all(labels.get(name) == value for name, value in selector.get('matchLabels', {}).items())


def is_peer(peer, policy, pod):
    """Whether a pod is meant by one entry of `from` or `to`."""
    if set(peer) - {'namespaceSelector', 'podSelector'}:
        raise AssertionError(f'a peer that this model does not know: {peer}')
    if pod is None:
        return False
    space, labels = pod
    if 'namespaceSelector' in peer:
        near = matches(peer['namespaceSelector'], {NAMESPACE_LABEL: space})
    else:
        near = space == policy['metadata']['namespace']
    return near and matches(peer.get('podSelector', {}), labels)


def has_port(rule, port, protocol):
    """Whether a rule is about this port; one without ports is about all."""
    return 'ports' not in rule or any(
        one.get('protocol', 'TCP') == protocol and one['port'] <= port <= one.get('endPort', one['port'])
        for one in rule['ports'])


def one_way(policies, kind, here, there, port, protocol):
    """Whether the policies that choose the pod `here` let it speak with `there`; `kind` is Ingress or Egress."""
    if here is None:
        return True
    chosen = [policy for policy in policies
              if policy['metadata']['namespace'] == here[0] and kind in policy['spec']['policyTypes']
              and matches(policy['spec']['podSelector'], here[1])]
    peers = {'Ingress': 'from', 'Egress': 'to'}[kind]
    return not chosen or any(
        has_port(rule, port, protocol)
        and (peers not in rule or any(is_peer(peer, policy, there) for peer in rule[peers]))
        for policy in chosen for rule in policy['spec'].get(kind.lower(), []))


def lets(policies, source, target, port, protocol='TCP'):
    """Whether a connection is let through: out of `source` and into `target`."""
    return (one_way(policies, 'Egress', source, target, port, protocol)
            and one_way(policies, 'Ingress', target, source, port, protocol))
