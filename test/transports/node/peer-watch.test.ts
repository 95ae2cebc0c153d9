// covers: src/transports/node/peer-watch.ts, src/transports/node/peer-monitor.ts
import {expect, onTestFinished, test, vi} from 'vitest';
import {PeerMonitor} from '../../../src/transports/node/peer-monitor.js';
import {CLIENT_PEER_TIMES, type PeerTimes, SERVER_PEER_TIMES} from '../../../src/transports/node/peer-times.js';
import {PeerWatch, type WatchedLink} from '../../../src/transports/node/peer-watch.js';
import type {TcpInfo} from '../../../src/transports/node/tcp-info.js';

const LOOK_MS = 2000;

/** A link whose every number is the test's own. */
class FakeLink implements WatchedLink {
	bytesRead = 100;
	bytesWritten = 100;
	backlog = 0;
	isPaused = false;
	pings = 0;
	info: TcpInfo | undefined;
	givenUp: string | undefined;
	stops = 0;

	readTcpInfo(): TcpInfo | undefined {
		return this.info;
	}

	ping(): void {
		this.pings++;
		this.bytesWritten += 2;
	}

	giveUp({message}: Error): void {
		this.givenUp ??= message;
	}

	stopped(): void {
		this.stops++;
	}
}

/** Looks every two seconds until the peer is given up or the time is over; returns the seconds. */
function observe(link: FakeLink, times: PeerTimes, seconds: number, each: (at: number) => void = () => {}): number {
	const watch = new PeerWatch(link, times, 0);
	let now = 0;
	while (now < seconds * 1000 && link.givenUp === undefined) {
		now += LOOK_MS;
		each(now);
		watch.look(now);
	}
	return now / 1000;
}

const acknowledging: TcpInfo = {
	dataSilentMs: Number.MAX_SAFE_INTEGER,
	ackSilentMs: 0,
	isUnanswered: false,
	ackedBytes: 100,
	queuedBytes: 0,
};

test('a peer that says nothing is asked after 10 seconds and given up after 25', () => {
	const link = new FakeLink();
	expect(observe(link, CLIENT_PEER_TIMES, 100)).toBe(26);
	expect([link.pings, link.givenUp]).toEqual([2, 'the other end has not answered for 26 s']);
});

test('a byte in time is enough, and a peer that is heard is not asked', () => {
	const link = new FakeLink();
	expect(observe(link, CLIENT_PEER_TIMES, 600, at => at % 8000 === 0 && link.bytesRead++)).toBe(600);
	expect(link.pings).toBe(0);
	expect(observe(link, CLIENT_PEER_TIMES, 600, at => at % 24_000 === 0 && link.bytesRead++)).toBe(600);
});

test.each([
	{...CLIENT_PEER_TIMES, peerTimeoutMs: 0},
	{...SERVER_PEER_TIMES, peerTimeoutMs: 0},
])('without a limit a peer is asked and never given up', times => {
	const link = new FakeLink();
	expect([observe(link, times, 3600), link.pings, link.stops]).toEqual([3600, 360, 0]);
});

test('silence is our own doing while we do not read', () => {
	const link = Object.assign(new FakeLink(), {isPaused: true});
	expect(observe(link, CLIENT_PEER_TIMES, 3600)).toBe(3600);
	expect(link.pings).toBe(360);
});

test('bytes that have arrived unread count as heard', () => {
	const link = Object.assign(new FakeLink(), {info: {...acknowledging, dataSilentMs: 5000}});
	expect(observe(link, CLIENT_PEER_TIMES, 3600)).toBe(3600);
});

test('a peer that leaves a ping unanswered which its kernel has taken is given up', () => {
	for (const times of [SERVER_PEER_TIMES, CLIENT_PEER_TIMES]) {
		const link = Object.assign(new FakeLink(), {info: acknowledging});
		expect(observe(link, times, 3600)).toBe(26);
		expect([link.givenUp, link.stops]).toEqual(['the other end has not answered for 26 s', 0]);
	}
});

/** Of a peer whose program does not read, so that a ping does not even arrive. */
const notReading = {...acknowledging, queuedBytes: 1000};

test('a peer that does not read is waited for by a server, and given up by a client', () => {
	const link = Object.assign(new FakeLink(), {info: notReading});
	expect(observe(link, SERVER_PEER_TIMES, 1800)).toBe(1800);
	expect(link.stops).toBe(1);
	expect(observe(Object.assign(new FakeLink(), {info: notReading}), CLIENT_PEER_TIMES, 3600)).toBe(26);
	expect(observe(link, {...SERVER_PEER_TIMES, stoppedPeerMs: 60_000}, 3600)).toBe(60);
});

test('a program that reads again is heard, and may stop again', () => {
	const link = Object.assign(new FakeLink(), {info: notReading});
	observe(link, SERVER_PEER_TIMES, 200, at => at === 100_000 && link.bytesRead++);
	expect(link.stops).toBe(2);
});

test.each([true, false])('a peer whose kernel is silent is gone, whether we read (paused: %s)', isPaused => {
	const link = Object.assign(new FakeLink(), {isPaused});
	const seconds = observe(link, SERVER_PEER_TIMES, 3600, at => {
		link.info = {...acknowledging, ackSilentMs: at, isUnanswered: at > 10_000};
	});
	expect([seconds, link.givenUp]).toEqual([26, 'nothing was heard from the other end for 26 s']);
	expect(link.stops).toBe(0);
});

test('a peer whose kernel falls silent later than its program is gone, not stopped', () => {
	const link = new FakeLink();
	const seconds = observe(link, SERVER_PEER_TIMES, 3600, at => {
		// Output was acknowledged for 15 seconds.
		link.info = {...acknowledging, ackSilentMs: Math.max(0, at - 15_000), isUnanswered: true, queuedBytes: 5000};
	});
	expect([seconds, link.stops]).toEqual([40, 0]);
});

test('a window probe that has just been sent to a peer that does not read proves nothing', () => {
	const link = Object.assign(new FakeLink(), {backlog: 1000});
	const seconds = observe(link, SERVER_PEER_TIMES, 3500, at => {
		// Probes are a minute apart and answered between two looks.
		link.info = {...acknowledging, ackSilentMs: at % 60_000, isUnanswered: at % 60_000 === 0, queuedBytes: 1000};
	});
	expect([seconds, link.stops]).toEqual([3500, 1]);
});

test.each([true, false])('a slow link is no silence while what we send arrives (kernel tells: %s)', tells => {
	const link = Object.assign(new FakeLink(), {bytesWritten: 100_000_000, backlog: 99_000_000});
	const seconds = observe(link, CLIENT_PEER_TIMES, 600, at => {
		link.backlog = 99_000_000 - at;
		if (tells) link.info = {...acknowledging, isUnanswered: true, ackedBytes: at, queuedBytes: 5000};
	});
	expect(seconds).toBe(600);
});

test('output that arrives somewhere does not hide that pings are not answered', () => {
	const link = new FakeLink();
	const seconds = observe(link, CLIENT_PEER_TIMES, 600, at => {
		link.info = {...acknowledging, isUnanswered: true, ackedBytes: at * 1000, queuedBytes: 5000};
	});
	expect(seconds).toBe(28);
});

test('a process that was stopped itself asks first and judges later', () => {
	vi.useFakeTimers({toFake: ['setInterval', 'clearInterval', 'performance']});
	onTestFinished(() => void vi.useRealTimers());
	const link = new FakeLink();
	const stop = new PeerMonitor(CLIENT_PEER_TIMES).watch(link);
	vi.advanceTimersByTime(24_000);
	expect(link.pings).toBe(2);
	const before = performance.now();
	vi.spyOn(performance, 'now').mockImplementation(() => before + 3_600_000);
	vi.advanceTimersByTime(2000);
	expect([link.pings, link.givenUp]).toEqual([3, undefined]);
	link.bytesRead++;
	vi.restoreAllMocks();
	stop();
	expect(vi.getTimerCount()).toBe(0);
});
