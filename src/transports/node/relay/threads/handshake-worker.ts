// Entry of a thread that does handshakes.
import {parentPort} from 'node:worker_threads';
import {doHandshakeWork, type HandshakeWork} from './handshake-work.js';

parentPort!.on('message', (work: HandshakeWork) => parentPort!.postMessage(doHandshakeWork(work), []));
