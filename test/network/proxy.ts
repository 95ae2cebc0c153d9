import {createServer, request as forward, type IncomingMessage} from 'node:http';
import {type AddressInfo, connect, type Socket} from 'node:net';
import {onTestFinished} from 'vitest';

export interface Proxy {
	readonly port: number;
	/** The first line and the headers of everything asked of it. */
	readonly asked: {readonly line: string; readonly headers: IncomingMessage['headers']}[];
	/** Status line of the response to CONNECT. */
	connectStatus: string;
}

/** A real proxy: it passes on plain requests and opens tunnels. */
export async function proxy(): Promise<Proxy> {
	const asked: Proxy['asked'] = [];
	const server = createServer((request, response) => {
		asked.push({line: `${request.method} ${request.url}`, headers: request.headers});
		const {'proxy-authorization': _, ...headers} = request.headers;
		const onward = forward(request.url!, {method: request.method, headers}, answer => {
			response.writeHead(answer.statusCode!, answer.rawHeaders);
			answer.pipe(response);
		});
		request.pipe(onward);
	});
	const self = {port: 0, asked, connectStatus: '200 OK'};
	const sockets: Socket[] = [];
	server.on('connection', socket => sockets.push(socket));
	server.on('connect', (request, socket: Socket) => {
		asked.push({line: `CONNECT ${request.url}`, headers: request.headers});
		socket.on('error', () => {});
		if (self.connectStatus === 'nothing') return;
		socket.write(`HTTP/1.1 ${self.connectStatus}\r\n\r\n`);
		if (!self.connectStatus.startsWith('200')) return void socket.end();
		const [host, port] = request.url!.split(':');
		const onward = connect(Number(port), host);
		sockets.push(onward);
		onward.on('error', () => {});
		socket.pipe(onward).pipe(socket);
	});
	await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
	onTestFinished(() => {
		server.close();
		for (const socket of sockets) socket.destroy();
	});
	self.port = (server.address() as AddressInfo).port;
	return self;
}
