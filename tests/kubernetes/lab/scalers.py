"""What tests on RequestScalers share, for any autoscaler: a scaler's status, and its target."""

from wire import PATIENCE, eventually

from lab.case import LabCase


def condition(found, kind, wanted):
    """A condition of an object, if its `status reason` is `wanted`."""
    for one in found.get('status', {}).get('conditions', ()):
        if one['type'] == kind and f'{one["status"]} {one["reason"]}' == wanted:
            return one
    return None


class ScalerCase(LabCase):
    """A RequestScaler has the name of the Deployment that it scales."""

    def story(self):
        """What else a failure should show; nothing by default."""
        return ''

    def look(self, name):
        return self.api.get(self.place.path('requestscalers', name))

    def wait_condition(self, name, kind, wanted, seconds=PATIENCE):
        """The condition, once its `status reason` is `wanted`."""
        try:
            return eventually(lambda: condition(self.look(name), kind, wanted), f'{kind} is {wanted}', seconds)
        except AssertionError as late:
            raise AssertionError(f'{late}; it is {self.look(name).get("status")}{self.story()}') from None

    def replicas(self, name):
        return self.api.get(self.place.path('deployments', name))['spec']['replicas']
