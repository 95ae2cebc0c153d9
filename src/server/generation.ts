import {instanceId} from '../shared/node/instance-id.js';
import {VERSION} from '../shared/version.js';

const ID_CHARS = 8;

/** This run of this version of the server; processes show by it which one started them. */
export function generation(): string {
	return `${VERSION}-${instanceId().slice(0, ID_CHARS)}`;
}
