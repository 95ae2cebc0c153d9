// Writes the generated parts of docs/ from the built library: npm run docs
import {writeFileSync} from 'node:fs';
import {SETTINGS} from '../dist/cli/settings.js';
import {METHODS, scopeOf} from '../dist/protocol/methods.js';
import {createHandlers} from '../dist/server/handlers/index.js';
import {ERRORS} from '../dist/shared/errors.js';
import {renderProtocol} from './render-protocol.mjs';
import {renderErrors, renderSettings} from './render-tables.mjs';

const docs = new URL('../docs/', import.meta.url);
writeFileSync(new URL('protocol.md', docs), renderProtocol(METHODS, new Set(Object.keys(createHandlers({}))), scopeOf));
writeFileSync(new URL('settings.md', docs), renderSettings(SETTINGS));
writeFileSync(new URL('errors.md', docs), renderErrors(ERRORS));
