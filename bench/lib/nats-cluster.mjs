// Real NATS servers on loopback, alone or as a cluster, that can be killed, frozen and started again.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdirSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:net';
import {join} from 'node:path';
import {Victim} from './victim.mjs';

/** Starts `count` servers with JetStream in `directory`. */
export async function startNatsCluster(directory, count) {
	const ports = await freePorts(count * 2);
	const routes = ports.slice(count).map(port => `nats-route://127.0.0.1:${port}`);
	return Array.from({length: count}, (_, index) => {
		const store = join(directory, `nats-${index}`);
		mkdirSync(store, {recursive: true});
		const config = join(store, 'server.conf');
		const lines = [
			`server_name: nats-${index}`,
			`listen: 127.0.0.1:${ports[index]}`,
			`jetstream { store_dir: "${store}" }`,
		];
		if (count > 1) {
			lines.push(`cluster { name: bench, listen: 127.0.0.1:${ports[count + index]}, routes: [${routes.join(', ')}] }`);
		}
		writeFileSync(config, lines.join('\n'));
		const start = () => spawn('nats-server', ['-c', config], {stdio: 'ignore'});
		return Object.assign(new Victim(`nats-${index}`, start), {url: `nats://127.0.0.1:${ports[index]}`});
	});
}

/** Ports that nobody used a moment ago. */
export async function freePorts(count) {
	const servers = Array.from({length: count}, () => createServer().listen(0, '127.0.0.1'));
	await Promise.all(servers.map(server => once(server, 'listening')));
	const ports = servers.map(server => server.address().port);
	await Promise.all(servers.map(server => once(server.close(), 'close')));
	return ports;
}
