"""An autoscaler that reaches the API server through what spoils the way, and what shows that it works."""

from wire import eventually

from scaling.case import ScalingCase

SECONDS = 60  # the longest pause of our client is 30
LEASES = {'lease-duration': '600s', 'renew-deadline': '500s'}  # no outage is to cost one


class FaultedCase(ScalingCase):
    """`self.proxy` stands before the API server; `self.running` is the autoscaler behind it."""

    def begin(self, *names, **environment):
        """Scalers that sleep and are known."""
        self.configure()
        self.place.create('configmaps', {'metadata': {'name': 'config-leader-election'}, 'data': LEASES})
        self.proxy = self.fault_proxy()
        for name in names or ('web',):
            self.workload(name, 0)
            self.scale(name)
        self.running = self.autoscaler(KUBECONFIG=self.proxy.kubeconfig, **environment)
        self.way = self.activator(self.running)
        for name in names or ('web',):
            self.wait_condition(name, 'Ready', 'True Sleeping', SECONDS)
            self.way.stream.wait(lambda a, name=name: name in a.states, f'the state of {name}')
        self.wait_quiet()

    def wait_quiet(self):
        eventually(lambda: self.metric(self.running, 'sluice_kubernetes_waiting_scalers') == 0,
                   'nothing is on its way', SECONDS)

    def learns_of(self, name):
        """Waits until a new object is known, to the activator too, which has then received all earlier states."""
        self.workload(name, 0)
        self.scale(name)
        self.wait_condition(name, 'Ready', 'True Sleeping', SECONDS)
        self.way.stream.wait(lambda a: name in a.states, f'the state of {name}')

    def ask_for(self, name):
        """A request for it waits at the activator; returns when the activator has received the answer."""
        self.way.stream.report((name, 1, 1, self.place.name))
        self.way.stream.wait(lambda a: a.states[name]['desired'] == 1, f'one {name} is wanted')

    def scale_path(self, name='web'):
        return f'{self.place.path("deployments", name)}/scale'

    def writes_of(self, path, since=0):
        return self.proxy.requests(since, writes=True, path=path)
