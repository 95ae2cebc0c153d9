import {execFileSync} from 'node:child_process';

/** Two network namespaces with a router between them that can lose packets. Needs root and `ip`. */
export class Router {
	/** Address of the server's namespace. */
	server;
	#names;
	#deadPorts = new Set();

	/** `id` keeps the names and addresses of routers that exist at the same time apart: a number from 0 to 99. */
	constructor(id = process.pid % 100) {
		const [router, server, client] = (this.#names = ['r', 's', 'c'].map(each => `la${each}${process.pid}-${id}`));
		this.server = `10.77.${id}.130`;
		for (const name of this.#names) run('ip', 'netns', 'add', name);
		connect(router, server, `10.77.${id}.129`, this.server, 'toserver');
		connect(router, client, `10.77.${id}.1`, `10.77.${id}.2`, 'toclient');
		this.pass();
	}

	/** Command line prefixes of programs at the two ends. */
	get onServer() {
		return ['ip', 'netns', 'exec', this.#names[1]];
	}

	get onClient() {
		return ['ip', 'netns', 'exec', this.#names[2]];
	}

	/** From now on every packet is lost without a word. */
	drop() {
		this.#forward(0);
	}

	pass() {
		this.#forward(1);
	}

	/** Loses the packets of the connections there are to a port of the server; those of later ones pass. */
	killFlows(port) {
		const table = run(...this.onClient, 'cat', '/proc/net/tcp');
		const wanted = new RegExp(`^ *\\d+: [0-9A-F]{8}:([0-9A-F]{4}) [0-9A-F]{8}:${hex(port)} 01 `, 'gm');
		for (const [, found] of table.matchAll(wanted)) {
			const own = String(Number.parseInt(found, 16));
			if (this.#deadPorts.has(own)) continue;
			this.#deadPorts.add(own);
			for (const end of ['sport', 'dport'])
				run('ip', '-n', this.#names[0], 'rule', 'add', 'ipproto', 'tcp', end, own, 'blackhole');
		}
		return this.#deadPorts.size;
	}

	destroy() {
		for (const name of this.#names) run('ip', 'netns', 'del', name);
	}

	#forward(value) {
		run('ip', 'netns', 'exec', this.#names[0], 'sh', '-c', `echo ${value} > /proc/sys/net/ipv4/ip_forward`);
	}
}

function connect(router, end, routerAddress, address, device) {
	run('ip', 'link', 'add', 'eth0', 'netns', end, 'type', 'veth', 'peer', 'name', device, 'netns', router);
	run('ip', '-n', router, 'addr', 'add', `${routerAddress}/25`, 'dev', device);
	run('ip', '-n', end, 'addr', 'add', `${address}/25`, 'dev', 'eth0');
	run('ip', '-n', router, 'link', 'set', device, 'up');
	for (const each of ['lo', 'eth0']) run('ip', '-n', end, 'link', 'set', each, 'up');
	run('ip', '-n', end, 'route', 'add', 'default', 'via', routerAddress);
}

function run(program, ...args) {
	return execFileSync(program, args, {encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe']});
}

function hex(port) {
	return port.toString(16).toUpperCase().padStart(4, '0');
}
