import {selectBackend} from '../processes/select-backend.js';
import {silentLogger} from '../shared/logger.js';
import {DEFAULTS, type ServerOptions, type ServerSettings} from './options.js';

export function withDefaults(options: ServerOptions): ServerSettings {
	return {variables: process.env, backend: selectBackend, logger: silentLogger, ...DEFAULTS, ...options};
}
