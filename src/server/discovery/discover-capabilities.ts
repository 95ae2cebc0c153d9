import {homedir} from 'node:os';
import {join} from 'node:path';
import {bytePath} from '../../filesystem/byte-path.js';
import type {ResultOnWire} from '../../protocol/methods/method-table.js';
import {PathUri} from '../../protocol/path-uri/path-uri.js';
import {codexHome} from '../handlers/executor-config.js';
import {CapabilityRoot} from './capability-root.js';
import {findInstalledPlugins} from './installed-plugins.js';

/** Upstream's texts: they name no path, which a sandbox might not show. */
const UNKNOWN_PLACES = 'some capability locations could not be resolved; discovery may be incomplete';
const UNKNOWN_CONTENT = 'some capability metadata could not be loaded; discovery may be incomplete';

/** Skills and plugins of the user of this process, and skills of the machine. Those of projects are for the client. */
export async function discoverCapabilities(
	variables: Readonly<Record<string, string | undefined>>,
): Promise<ResultOnWire<'capabilities/discoverV2'>> {
	const codex = codexHome(variables);
	const roots = [
		{id: 'codex-home-skills', path: join(codex, 'skills')},
		{id: 'user-agent-skills', path: join(variables['HOME'] || homedir(), '.agents', 'skills')},
		{id: 'system-skills', path: '/etc/codex/skills'},
	];
	const {plugins, hasUnknownPlaces, incompleteCount} = await findInstalledPlugins(
		bytePath(join(codex, 'plugins', 'cache')),
	);
	const warnings = hasUnknownPlaces ? [UNKNOWN_PLACES] : [];
	for (let count = 0; count < incompleteCount; count++) warnings.push(UNKNOWN_CONTENT);
	const skills = [];
	for (const {id, path} of roots) {
		const root = new CapabilityRoot(bytePath(path));
		const discoveryRoot = {id, path: PathUri.fromBinary(root.path).href};
		for (const skill of await root.findSkills()) skills.push({...skill, discoveryRoot});
		if (root.isIncomplete) warnings.push(UNKNOWN_CONTENT);
	}
	return {plugins: [...plugins], skills, warnings};
}
