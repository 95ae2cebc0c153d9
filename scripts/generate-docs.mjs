// Writes the generated parts of docs/ from the built library: npm run docs
import {mkdirSync, rmSync, writeFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {COMMANDS, SECTIONS} from '../dist/cli/commands/command-list.js';
import {SETTINGS} from '../dist/cli/commands/serve/serve-settings.js';
import {METHODS, requiredScope} from '../dist/protocol/methods/method-table.js';
import {ERRORS} from '../dist/shared/errors.js';
import {readLimits} from './lib/limits.mjs';
import {readPublicApi} from './lib/public-api.mjs';
import {renderApi} from './render-api.mjs';
import {renderCommands} from './render-commands.mjs';
import {renderLimits} from './render-limits.mjs';
import {renderProtocol} from './render-protocol.mjs';
import {renderErrors, renderSettings} from './render-tables.mjs';

const docs = new URL('../docs/', import.meta.url);
writeFileSync(new URL('api.md', docs), renderApi(readPublicApi(fileURLToPath(new URL('../', docs)))));
writeFileSync(new URL('protocol.md', docs), renderProtocol(METHODS, requiredScope));
writeFileSync(new URL('settings.md', docs), renderSettings(SETTINGS));
writeFileSync(new URL('errors.md', docs), renderErrors(ERRORS));
writeFileSync(new URL('limits.md', docs), renderLimits(readLimits(fileURLToPath(new URL('../src', docs)))));

// A page of a command that is gone goes too.
rmSync(new URL('commands/', docs), {recursive: true, force: true});
mkdirSync(new URL('commands/', docs));
for (const [name, text] of Object.entries(renderCommands(COMMANDS, SECTIONS))) {
	writeFileSync(new URL(`commands/${name}`, docs), text);
}
