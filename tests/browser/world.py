"""What the stand-in for an engine answers: services, their past and their present, as functions of time.

Nothing is kept but what a change set: a world of one seed shows the same at the same second of its life.
"""

import datetime
import math
import random

COLUMNS = ('ready', 'starting', 'draining', 'want', 'stable', 'panic', 'target', 'rps', 'errors', 'refused', 'queued',
           'in_flight', 'p50_ms', 'p99_ms', 'latency')
BUCKETS = 24
TARGET = 7.0
MIB = 1 << 20
GIB = 1 << 30
HISTORY_SECONDS = 300
PANIC_AT = -50
# Of the service `shop`: from which second of its life on how many replicas run, and why the number changed.
SHOP_STEPS = ((-1e9, 3, 'stable', 'ceil(15.2 / 7.0) = 3'), (-258, 2, 'stable', 'ceil(13.1 / 7.0) = 2'), (-230, 1, 'stable', 'ceil(6.1 / 7.0) = 1'),
              (-198, 0, 'stable', 'no requests for 60 s: to zero'), (-152, 1, 'stable', 'a request waits: 0 -> 1'),
              (-50, 2, 'panic', 'panic: ceil(9.7 / 7.0) = 2, since 2 / 1 >= 2'), (-48, 3, 'panic', 'panic: ceil(14.2 / 7.0) = 3; 3 held'),
              (-42, 4, 'panic', 'panic: ceil(22.3 / 7.0) = 4; 4 held'), (-36, 5, 'panic', 'panic: ceil(29.8 / 7.0) = 5; 5 held'),
              (-32, 6, 'panic', 'panic: ceil(35.8 / 7.0) = 6; 6 held'), (-26, 7, 'panic', 'panic: ceil(44.0 / 7.0) = 7; 7 held'))
STARTS = ((-148, 417, (2, 3, 9, 372, 26, 5)), (-750, 1188, (1, 2, 12, 1120, 40, 13)), (-1988, 998, (0, 2, 10, 950, 30, 6)), (-6276, 2410, (830, 4, 15, 1480, 60, 21)))
PHASES = ('queue', 'decide', 'create', 'start', 'ready', 'first_byte')


def rfc3339(at):
    return datetime.datetime.fromtimestamp(at, datetime.timezone.utc).isoformat(timespec='milliseconds').replace('+00:00', 'Z')


def wave(name, at, low, high, period):
    phase = sum(map(ord, name)) % 63 / 10
    return low + (high - low) * (0.5 + 0.5 * math.sin(at * 2 * math.pi / period + phase))


class Service:
    """One service. `kind`: awake, asleep, failing, memory, starting, shop."""

    def __init__(self, name, kind, rate=0, why='', began=0.0):
        self.name, self.kind, self.rate, self.why, self.began = name, kind, rate, why, began
        self.space = 'default'
        self.forced = None     # a number of replicas that a change set
        self.bounds = [0, 40]
        self.shares = {}       # place -> replicas
        self.percents = {'@latest': 100}
        self.explained = {}    # more members of its decision

    def shop_step(self, at):
        return [step for step in SHOP_STEPS if step[0] <= at - self.began][-1]

    def load(self, at):
        """Requests at once at this second."""
        if self.kind != 'shop':
            return self.rps(at) / 25
        u = at - self.began
        noise = random.Random(int(u)).uniform(0.9, 1.1)
        if u < -262:
            return 15 * noise
        if u < -152:
            return 0
        if u < PANIC_AT:
            return 1.8 * noise
        return min(44, 2 + (u - PANIC_AT) * 1.6) * noise

    def rps(self, at):
        if self.kind == 'shop':
            return 8.9 * self.load(at)
        if self.kind in ('awake', 'memory'):
            return max(0, wave(self.name, at, 0.6 * self.rate, 1.3 * self.rate, 90))
        return 0

    def window(self, at, seconds):
        return sum(self.load(at - i) for i in range(seconds)) / seconds

    def replicas(self, at):
        """(ready, starting, wanted)"""
        if self.forced is not None:
            return self.forced, 0, self.forced
        if self.kind == 'shop':
            wanted = self.shop_step(at)[1]
            ready = min(wanted, self.shop_step(at - 1.5)[1]) if wanted > 1 else self.shop_step(at - 0.4)[1]
            return ready, max(0, wanted - ready), wanted
        wanted = {'awake': max(1, math.ceil(self.rate / 100)), 'memory': 4, 'starting': 1, 'failing': 1}.get(self.kind, 0)
        ready = {'awake': wanted, 'memory': 3}.get(self.kind, 0)
        return ready, 1 if self.kind == 'starting' else 0, wanted

    def state(self, at):
        ready, starting, wanted = self.replicas(at)
        if ready:
            return 'awake'
        if self.kind == 'failing' and wanted:
            return 'failing'
        return 'starting' if starting or wanted else 'asleep'

    def mode(self, at):
        return self.shop_step(at)[2] if self.kind == 'shop' and self.forced is None else 'stable'

    def trouble(self, at):
        if self.state(at) == 'failing':
            return 'failing'
        if self.mode(at) == 'panic':
            return 'panic'
        return 'memory' if self.kind == 'memory' else None

    def figures(self, at):
        """A row of the series; None while it slept."""
        ready, starting, wanted = self.replicas(at)
        rng = random.Random(f'{self.name} {int(at - self.began)}')
        rate = self.rps(at)
        u = at - self.began
        queued = 19 if self.kind == 'shop' and (-152 <= u < -151 or PANIC_AT <= u < PANIC_AT + 3) else 0
        median = 105 * rng.uniform(0.85, 1.2) if self.kind == 'shop' else 11 * rng.uniform(0.9, 1.1)
        tail = median * rng.uniform(1.7, 2.6)
        latency = [0] * BUCKETS
        for _ in range(min(200, round(rate))):
            bucket = math.ceil(math.log(median * rng.lognormvariate(0, 0.4)) / math.log(1.5))
            latency[max(0, min(BUCKETS - 1, bucket))] += 1
        busy = rate > 0 and ready > 0
        slow = self.kind == 'shop'
        return [ready, starting, 0, wanted, round(self.window(at, 60 if slow else 1), 2), round(self.window(at, 6 if slow else 1), 2), TARGET, round(rate, 1), 0,
                0, queued, round(self.load(at)), round(median, 1) if busy else None, round(tail, 1) if busy else None, latency]

    def brief(self, at, points=True):
        values = dict(zip(COLUMNS, self.figures(at)))
        row = {'namespace': self.space, 'name': self.name, 'state': self.state(at), 'mode': self.mode(at), 'trouble': self.trouble(at), 'ready': values['ready'],
               'want': values['want'], 'stable': values['stable'], 'panic': values['panic'], 'target': TARGET, 'rps': values['rps'], 'queued': values['queued'],
               'p50_ms': values['p50_ms'], 'p99_ms': values['p99_ms'], 'last_cold_start_ms': 417 if self.kind == 'shop' else None, 'why': self.decision(at)['why']}
        if points:
            row['points'] = [round(self.rps(at - 5 * i), 1) for i in range(59, -1, -1)]
        return row

    def decision(self, at):
        step = self.shop_step(at) if self.kind == 'shop' else (-1000, 0, 'stable', self.why)
        ready, _, wanted = self.replicas(at)
        stable, panic = self.window(at, 60 if self.kind == 'shop' else 1), self.window(at, 6 if self.kind == 'shop' else 1)
        decided = self.began + step[0]
        why = step[3] or f'ceil({stable:.1f} / 7.0) = {wanted}'
        answer = {'time': rfc3339(decided), 'namespace': self.space, 'service': self.name, 'revision': f'{self.name}-00003', 'trigger': 'tick', 'valid': True,
                  'metric': 'concurrency', 'stable': round(stable, 1), 'panic': round(panic, 1), 'target': TARGET, 'total': 10, 'ready': max(1, ready),
                  'wanted_stable': math.ceil(stable / TARGET), 'wanted_panic': math.ceil(panic / TARGET), 'up_limit': 1000, 'down_limit': 0, 'mode': step[2],
                  'desired': wanted, 'bounded': wanted, 'granted': ready if self.kind == 'memory' else wanted, 'bound_by': 'capacity' if self.kind == 'memory' else 'none',
                  'excess_burst_capacity': -47, 'route_mode': 'proxy', 'why': why}
        inputs = {'stable_window_s': 60, 'panic_window_s': 6, 'panic_threshold': 2, 'breach': step[2] == 'panic', 'max_scale_up_rate': 1000, 'max_scale_down_rate': 2,
                  'activation_scale': 1, 'scale_down_delay_s': 0, 'min': self.bounds[0], 'max': self.bounds[1]}
        if step[2] == 'panic':
            inputs |= {'mode_for_s': step[0] - PANIC_AT, 'may_fall_at': rfc3339(decided + 60)}
        answer['inputs'] = inputs
        return answer | self.explained

    def history(self, since):
        if self.kind != 'shop':
            return []
        return [{key: value for key, value in self.decision(self.began + step[0]).items() if key != 'inputs'} for step in SHOP_STEPS if self.began + step[0] >= since]

    def starts(self):
        if self.kind != 'shop':
            return []
        return [{'time': rfc3339(self.began + at), 'namespace': self.space, 'service': self.name, 'replica': f'{self.name}-00003-1', 'total_ms': total,
                 'phases_ms': dict(zip(PHASES, phases))} for at, total, phases in STARTS]

    def revisions(self):
        return [{'revision': f'{self.name}-0000{number}', 'latest': latest, 'state': state,
                 'percent': self.percents.get(f'{self.name}-0000{number}', 0) + (self.percents.get('@latest', 0) if latest else 0)}
                for number, latest, state in ((3, True, 'awake'), (2, False, 'kept'))]

    def rows_of_replicas(self, at):
        """[id, state, in flight, memory, throttled]"""
        ready, starting, _ = self.replicas(at)
        rng = random.Random(int(at - self.began) // 3)
        rows = []
        for i in range(ready + starting):
            throttled = self.kind == 'shop' and i == 3
            rows.append([f'{self.name}-00003-{i + 1}', 'ready' if i < ready else 'starting', 3 if throttled else rng.randint(4, 9),
                         (58 if throttled else rng.randint(27, 33)) * MIB, throttled])
        return rows

    def status(self, at):
        answer = self.brief(at, points=False)
        answer |= {'url': f'http://{self.name}.localhost:8080', 'revision': f'{self.name}-00003', 'starting': self.replicas(at)[1], 'draining': 0, 'min': self.bounds[0],
                   'max': self.bounds[1], 'desired': answer['want'], 'granted': self.decision(at)['granted'], 'mode_for_s': None,
                   'replicas': [dict(zip(('id', 'state', 'in_flight', 'memory_bytes', 'throttled'), row)) for row in self.rows_of_replicas(at)]}
        if self.shares:
            answer['places'] = [{'name': name, 'replicas': replicas, 'ready': replicas} for name, replicas in self.shares.items()]
            where = [name for name, replicas in self.shares.items() for _ in range(replicas)]
            for replica, place in zip(answer['replicas'], where):
                replica['place'] = place
        if self.kind == 'failing':
            answer['not_ready'] = [{'revision': answer['revision'], 'state': 'failing', 'cause': 'exited', 'why': self.why}]
        return answer


class World:
    """All services of one engine. `now` is the engine's clock."""

    def __init__(self, now, services, form='machine', name='shop-dev'):
        self.began = now
        self.form, self.name = form, name
        self.version = '1.1.0'
        self.edit = True
        self.services = {service.name: service for service in services}
        for service in services:
            service.began = now
        self.memory_known = form == 'machine'
        self.groups = []       # (name, cores, replicas at most, bytes at most)
        self.moves, self.drained = [], set()

    def overview(self, at):
        rows = [service.brief(at, points=False) for service in self.services.values()]
        count = {state: sum(row['state'] == state for row in rows) for state in ('awake', 'starting', 'draining', 'asleep', 'failing')}
        count |= {trouble: sum(row['trouble'] == trouble for row in rows) for trouble in ('panic', 'memory')}
        rate = sum(row['rps'] for row in rows)
        panic = [{'namespace': row['namespace'], 'name': row['name'], 'for_s': at - self.began - PANIC_AT} for row in rows if row['mode'] == 'panic']
        memory = self.memory() if self.memory_known else None
        return {'name': self.name, 'version': self.version, 'form': self.form, 'edit': self.edit, 'time': rfc3339(at), 'services': {'all': len(rows), **count},
                'ready': sum(row['ready'] for row in rows), 'want': sum(row['want'] for row in rows), 'rps': round(rate, 1), 'p50_ms': 74 if rate else None,
                'p99_ms': 214 if rate else None, 'queued': sum(row['queued'] for row in rows), 'panic': panic[:3],
                'memory': memory and {key: memory[key] for key in ('capacity_bytes', 'used_bytes', 'admit_bytes', 'pressure')},
                'rps_points': [round(wave('all', at - 5 * i, 0.9 * rate, 1.05 * rate + 0.1, 70), 1) for i in range(59, -1, -1)],
                'queued_points': [19 if i in (30, 10) else 0 for i in range(60)] if rate else [0] * 60}

    def places(self):
        """As the API has them; of a machine without groups one, which has no `cores`."""
        if not self.groups:
            return [{'name': 'machine', 'preference': 0, 'state': 'ready', 'labels': {}, 'used': {}, 'capacity': {}, 'services': []}]
        answer = []
        for preference, (name, cores, replicas, memory) in enumerate(self.groups):
            there = [{'namespace': each.space, 'name': each.name, 'revision': f'{each.name}-00003', 'replicas': each.shares[name]} for each in self.services.values() if each.shares.get(name)]
            used = sum(each['replicas'] for each in there)
            place = {'name': name, 'preference': preference, 'state': 'draining' if name in self.drained else 'ready', 'labels': {}, 'cores': cores, 'cpu_use_millicores': 137 * used,
                     'used': {'replicas': used, 'cpu_millicores': 100 * used, 'memory_bytes': 64 * MIB * used},
                     'capacity': {'replicas': replicas, 'cpu_millicores': None, 'memory_bytes': memory}, 'services': there}
            if name in self.drained:
                place['drain'] = {'over': True, 'services': 1, 'replicas': 1, 'cut': 0, 'remaining': ['api: pin: it may not be moved']}
            answer.append(place)
        return answer

    def memory(self):
        throttled = []
        if 'shop' in self.services:
            throttled = [{'namespace': 'default', 'service': 'shop', 'id': 'shop-00003-4', 'since': rfc3339(self.began - 11), 'memory_bytes': 58 * MIB, 'held': False, 'quota': 0.1,
                          'why': 'it grew by 3 MiB/s while the machine had 212 MiB left'}]
        return {'capacity_bytes': 7.6 * GIB, 'used_bytes': 6.1 * GIB, 'replicas_bytes': 3.9 * GIB, 'reserve_bytes': 0.62 * GIB, 'admit_bytes': 212 * MIB,
                'growth_bytes_per_second': 3 * MIB, 'pressure': 'high', 'some_avg10': 3.2, 'throttled': throttled}


def shop():
    """Fourteen services: one in panic, one short of memory, one that fails, one that starts, some asleep."""
    listed = [('shop', 'shop', 0), ('api', 'awake', 241), ('auth', 'awake', 88), ('images', 'memory', 30), ('search', 'awake', 310), ('cart', 'awake', 64),
              ('mailer', 'failing', 0), ('webhooks', 'awake', 9), ('feed', 'awake', 132), ('exports', 'starting', 0), ('admin', 'asleep', 0), ('docs', 'asleep', 0),
              ('legacy-reports', 'asleep', 0), ('staging-shop', 'asleep', 0)]
    why = {'mailer': 'it ended with exit code 1: ValueError: no database', 'images': 'no memory: 212 MiB free, needs 256 MiB'}
    return [Service(name, kind, rate, why.get(name, '')) for name, kind, rate in listed]


def group(engine):
    """Divides the machine of an engine that has shop() in three places; one move runs, one is done."""
    world = engine.world
    world.groups = [('fast', 4, 12, 2 * GIB), ('slow', None, 40, None), ('spare', 1, None, 512 * MIB)]
    for name, shares in (('shop', {'fast': 5, 'slow': 2}), ('api', {'fast': 3}), ('auth', {'fast': 1}), ('search', {'fast': 3, 'slow': 1}), ('images', {'slow': 3}), ('cart', {'slow': 1})):
        world.services[name].shares = shares
    world.services['shop'].explained = {'why_elsewhere': {'place': 'slow', 'liked': 'fast', 'why': 'fast has 12 of its 12 replicas; its own of slow may move from 60 s on'},
                                        'moving': {'from': 'slow', 'to': 'fast', 'state': 'shifting'}}
    world.services['images'].explained = {'waits': 'room is being made in fast: cart -> slow (warming)', 'asked_again': {'at': rfc3339(world.began + 40), 'replica_of': ['fast']}}
    world.moves = [move(2, 'shop', 'slow', 'fast', world.began - 8, state='shifting', cause='home'), move(1, 'cart', 'fast', 'slow', world.began - 130, over=True, done=True, state='done')]


def move(number, service, source, to, at, **change):
    return {'id': number, 'service': service, 'namespace': 'default', 'from': source, 'to': to, 'cause': 'full', 'state': 'planned', 'over': False, 'done': False, 'replicas': 2, 'started': 2,
            'start_s': 1.6, 'drained': 1, 'drain_s': 0.4, 'cut': 0, 'began': rfc3339(at), 'why': '', 'line': ''} | change


def thousand():
    """A thousand, a hundred of them awake."""
    kinds = ['shop'] + ['awake'] * 97 + ['failing', 'memory'] + ['asleep'] * 900
    return [Service('shop' if kind == 'shop' else f'service-{i:04}', kind, 20 + i % 90, '' if kind != 'failing' else 'it ended with exit code 2') for i, kind in enumerate(kinds)]
