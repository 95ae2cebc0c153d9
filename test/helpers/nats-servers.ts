import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdirSync, writeFileSync} from 'node:fs';
import {type AddressInfo, connect, createServer} from 'node:net';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {onTestFinished} from 'vitest';
import {optionalProgram} from './needs.js';
import {scratchDirectory} from './scratch.js';

/** A real `nats-server` with JetStream on loopback. */
export class NatsServer {
	readonly url: string;
	/** Directory of its streams. */
	readonly directory: string;
	readonly #config: string;
	readonly #port: number;
	#child: ChildProcess | undefined;

	constructor(config: string, directory: string, port: number) {
		this.directory = directory;
		this.#config = config;
		this.#port = port;
		this.url = `nats://127.0.0.1:${port}`;
	}

	async start(): Promise<void> {
		const child = spawn(optionalProgram('nats-server'), ['-c', this.#config], {stdio: 'ignore'});
		this.#child = child;
		while (!(await isListening(this.#port))) {
			if (child.exitCode !== null) throw new Error('nats-server does not start');
			await delay(10);
		}
	}

	/** Ends it without a chance to say anything. */
	kill(): Promise<void> {
		return this.#end('SIGKILL');
	}

	/** Lets it end in order, with everything written. */
	stop(): Promise<void> {
		return this.#end('SIGTERM');
	}

	async #end(signal: NodeJS.Signals): Promise<void> {
		const child = this.#child;
		if (!child || child.exitCode !== null || child.signalCode !== null) return;
		const ended = once(child, 'exit');
		child.kill(signal);
		await ended;
	}

	/** Stops it as a machine that stands still, until `thaw`. */
	freeze(): void {
		this.#child?.kill('SIGSTOP');
	}

	thaw(): void {
		this.#child?.kill('SIGCONT');
	}
}

/** One server, or several as a cluster, with these lines in their configuration; they end with the test. */
export async function runningNats(count = 1, settings: readonly string[] = []): Promise<readonly NatsServer[]> {
	const directory = scratchDirectory();
	const ports = await freePorts(count * 2);
	const routes = ports.slice(count).map(port => `nats-route://127.0.0.1:${port}`);
	const servers = Array.from({length: count}, (_, index) => {
		const store = join(directory, `server-${index}`);
		mkdirSync(store);
		const config = join(directory, `server-${index}.conf`);
		const lines = [
			`server_name: server-${index}`,
			`listen: 127.0.0.1:${ports[index]}`,
			`jetstream { store_dir: "${store}" }`,
			...settings,
			...(count > 1
				? [`cluster { name: test, listen: 127.0.0.1:${ports[count + index]}, routes: [${routes.join(', ')}] }`]
				: []),
		];
		writeFileSync(config, lines.join('\n'));
		return new NatsServer(config, store, ports[index]!);
	});
	onTestFinished(async () => {
		for (const server of servers) await server.kill();
	});
	await Promise.all(servers.map(server => server.start()));
	return servers;
}

async function freePorts(count: number): Promise<number[]> {
	const servers = Array.from({length: count}, () => createServer().listen(0, '127.0.0.1'));
	await Promise.all(servers.map(server => once(server, 'listening')));
	const ports = servers.map(server => (server.address() as AddressInfo).port);
	await Promise.all(servers.map(server => once(server.close(), 'close')));
	return ports;
}

function isListening(port: number): Promise<boolean> {
	return new Promise(resolve => {
		const socket = connect(port, '127.0.0.1', () => {
			socket.destroy();
			resolve(true);
		});
		socket.once('error', () => resolve(false));
	});
}
