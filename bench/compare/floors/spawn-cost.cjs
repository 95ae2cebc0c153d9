// Cost of spawning in a process that holds so many mebibytes: Node forks, so it grows with memory.
//   node spawn-cost.cjs MIB
'use strict';
const {spawn} = require('node:child_process');

const WARM_UP_STARTS = 15;
const STARTS = 80;
const BURST = 300;
const FLIGHT = 32;
const mebibytes = Number(process.argv[2]);
const kept = Array.from({length: Math.ceil(mebibytes / 10)}, () => Buffer.alloc(10 << 20, 1));

void measure();

async function measure() {
	for (let count = 0; count < WARM_UP_STARTS; count++) await spawnOne();
	const times = [];
	const blocked = [];
	for (let count = 0; count < STARTS; count++) {
		const began = performance.now();
		const closed = spawnOne();
		blocked.push(performance.now() - began);
		await closed;
		times.push(performance.now() - began);
	}
	const began = performance.now();
	let left = BURST;
	const lane = async () => {
		while (left-- > 0) await spawnOne();
	};
	if (mebibytes === 0) await Promise.all(Array.from({length: FLIGHT}, lane));
	const rate = BURST / ((performance.now() - began) / 1000);
	console.log(JSON.stringify({p50: middle(times), block: middle(blocked), rate, kept: kept.length}));
}

function spawnOne() {
	return new Promise(resolve => spawn('/bin/true', [], {stdio: ['ignore', 'pipe', 'pipe']}).on('close', resolve));
}

/** Median in microseconds. */
function middle(times) {
	return times.sort((a, b) => a - b)[times.length >> 1] * 1000;
}
