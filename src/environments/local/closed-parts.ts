import {RemoteFiles} from '../../client/files/remote/remote-files.js';
import {RemoteHttp} from '../../client/http/remote-http.js';
import {RemotePorts} from '../../client/ports/remote-ports.js';
import {ClosedError} from '../../client/session/closed-error.js';

async function refuse(): Promise<never> {
	throw new ClosedError();
}

/** Parts of an environment of this machine that was closed: they fail as those of another machine do. */
export const closedFiles = new RemoteFiles(refuse);
export const closedHttp = new RemoteHttp(refuse);
export const closedPorts = new RemotePorts(refuse);
