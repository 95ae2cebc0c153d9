// Writes the generated parts of docs/ from the built library: npm run docs
import {mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {describeEnvironment} from '../dist/adapters/environment-info.js';
import {COMMANDS, SECTIONS} from '../dist/cli/commands/command-list.js';
import {SERVE} from '../dist/cli/commands/serve/serve-definition.js';
import {SERVE_FORWARD} from '../dist/cli/commands/serve/serve-forward-definition.js';
import {SETTINGS} from '../dist/cli/commands/serve/serve-settings.js';
import {RECOVERY_BUDGET_MS, RETRY_INTERVAL_MS} from '../dist/client/session/recovery.js';
import {METHODS, requiredScope} from '../dist/protocol/methods/method-table.js';
import {DEFAULTS} from '../dist/server/options.js';
import {ERRORS} from '../dist/shared/errors.js';
import {PING_INTERVAL_MS} from '../dist/transports/node/peer-times.js';
import {readLimits} from './lib/limits.mjs';
import {readPeers} from './lib/peers.mjs';
import {readPublicApi} from './lib/public-api.mjs';
import {renderApi} from './render-api.mjs';
import {renderCommands} from './render-commands.mjs';
import {renderCompatibility} from './render-compatibility.mjs';
import {renderLimits} from './render-limits.mjs';
import {renderProtocol} from './render-protocol.mjs';
import {renderErrors, renderSettings} from './render-tables.mjs';

const docs = new URL('../docs/', import.meta.url);
writeFileSync(new URL('api.md', docs), renderApi(readPublicApi(fileURLToPath(new URL('../', docs)))));
writeFileSync(new URL('protocol.md', docs), renderProtocol(METHODS, requiredScope));
writeFileSync(new URL('settings.md', docs), renderSettings(SETTINGS));
writeFileSync(new URL('errors.md', docs), renderErrors(ERRORS));
writeFileSync(new URL('limits.md', docs), renderLimits(readLimits(fileURLToPath(new URL('../src', docs)))));
const compatibility = new URL('compatibility.md', docs);
writeFileSync(
	compatibility,
	renderCompatibility(readFileSync(compatibility, 'utf8'), readPeers(), {
		methods: METHODS,
		timers: {
			...DEFAULTS,
			pingIntervalMs: PING_INTERVAL_MS,
			recoveryBudgetMs: RECOVERY_BUDGET_MS,
			retryIntervalMs: RETRY_INTERVAL_MS,
		},
		describeEnvironment,
		serveOptions: SERVE.options,
		forwardOptions: SERVE_FORWARD.options,
	}),
);

// A page of a command that is gone goes too.
rmSync(new URL('commands/', docs), {recursive: true, force: true});
mkdirSync(new URL('commands/', docs));
for (const [name, text] of Object.entries(renderCommands(COMMANDS, SECTIONS))) {
	writeFileSync(new URL(`commands/${name}`, docs), text);
}
