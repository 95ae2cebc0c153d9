import {type EnvironmentSnapshot, environmentIds, LOCAL} from '../../../environments/environment-provider.js';
import {selectEnvironments, selectsByLabels, splitSelector} from '../../../environments/many/selector.js';
import {findHubTarget} from '../../../environments/remote/hub-target.js';

/**
 * Names of the machines of a selector. A pool, or labels that only a hub knows, are one machine, which the hub chooses when
 * a tool first needs it.
 */
export function selectNames(selector: string, snapshot: EnvironmentSnapshot): string[] {
	const {remotes, labels = new Map()} = snapshot;
	const known = {names: [...new Set([LOCAL, ...environmentIds(snapshot)])], labels};
	const hasHub = [...remotes.values()].some(({kind}) => kind === 'registry');
	return splitSelector(selector).flatMap(term => {
		const isConfigured = known.names.includes(term) || selectsByLabels(term, known);
		const atHub = isConfigured || !hasHub ? undefined : findHubTarget(term, remotes);
		return atHub ? [atHub.name] : selectEnvironments(term, known);
	});
}
