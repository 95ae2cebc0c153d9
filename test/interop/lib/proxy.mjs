import http from 'node:http';
import {WebSocket, WebSocketServer} from 'ws';

/** Stands between client and server on a WebSocket: records every message, and can cut the connection. */
export class RecordingProxy {
	#upstream;
	#recorder;
	#http;
	#webSockets;
	#links = new Set();
	#count = 0;
	#rewrite;

	/** `rewrite` changes the text of messages of the server before they are recorded and sent. */
	constructor(upstream, recorder, rewrite) {
		this.#upstream = upstream;
		this.#recorder = recorder;
		this.#rewrite = rewrite;
	}

	async start() {
		this.#http = http.createServer((_request, response) => response.writeHead(426).end());
		this.#webSockets = new WebSocketServer({server: this.#http, maxPayload: 0, perMessageDeflate: false});
		this.#webSockets.on('connection', (client, request) => this.#link(client, request));
		await new Promise(resolve => {
			this.#http.listen(0, '127.0.0.1', resolve);
		});
		this.url = `ws://127.0.0.1:${this.#http.address().port}`;
		return this;
	}

	/** Cuts every live connection without a closing handshake. */
	cut() {
		for (const {client, server} of this.#links) {
			client.terminate();
			server.terminate();
		}
		this.#links.clear();
	}

	async stop() {
		this.cut();
		this.#webSockets.close();
		await new Promise(resolve => {
			this.#http.close(resolve);
		});
	}

	#link(client, request) {
		const conn = ++this.#count;
		const {host: _host, ...headers} = request.headers;
		this.#recorder.add({conn, event: 'open', path: request.url, headers});
		const {authorization} = headers;
		const server = new WebSocket(this.#upstream, {
			maxPayload: 0,
			perMessageDeflate: false,
			headers: authorization ? {authorization} : {},
		});
		this.#links.add({client, server});
		this.#forward({conn, dir: 'c>s', from: client, to: server});
		this.#forward({conn, dir: 's>c', from: server, to: client, rewrite: this.#rewrite});
		this.#follow(conn, 'client', client, server);
		this.#follow(conn, 'server', server, client);
	}

	#forward({conn, dir, from, to, rewrite}) {
		const early = [];
		to.on('open', () => {
			for (const [data, options] of early.splice(0)) to.send(data, options);
		});
		from.on('message', (received, binary) => {
			const data = rewrite && !binary ? rewrite(received.toString()) : received;
			this.#recorder.addMessage(conn, dir, data, binary);
			if (to.readyState === WebSocket.CONNECTING) early.push([data, {binary}]);
			else if (to.readyState === WebSocket.OPEN) to.send(data, {binary});
		});
	}

	#follow(conn, by, socket, other) {
		socket.on('ping', () => this.#recorder.add({conn, event: 'ping', by}));
		socket.on('error', ({message}) => this.#recorder.add({conn, event: 'error', by, message}));
		socket.on('close', (code, reason) => {
			this.#recorder.add({conn, event: 'close', by, code, reason: reason.toString()});
			other.terminate();
		});
	}
}
