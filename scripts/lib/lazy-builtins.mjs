// A plugin for the bundler that keeps the start short: built-in modules that a start does not need are loaded when one
// of their members is used, and of the others each member is taken once for the whole program, not once per module.
import {createRequire, isBuiltin} from 'node:module';
import {fileURLToPath} from 'node:url';

const require = createRequire(import.meta.url);
/** Those every start uses anyway, or whose members are taken apart as soon as they are imported. */
const AT_ONCE = new Set(['buffer', 'events', 'fs', 'path', 'process', 'stream', 'url', 'util', 'vm']);
/** Those whose functions are taken apart at once by others, too, but are called late or never. */
const FORWARDED = new Set(['crypto']);
/** The program has a `require` of its own: to make another, Node would load its loader of modules. */
const OWN_REQUIRE = `Object.defineProperty(members, 'createRequire', {
	value: place => (typeof importMetaUrl === 'string' && place === importMetaUrl ? require : load().createRequire(place)),
});`;
const NAMESPACE = 'builtin';
const LAZY_BUFFERUTIL = fileURLToPath(new URL('lazy-bufferutil.cjs', import.meta.url));

export const lazyBuiltins = {
	name: 'lazy-builtins',
	setup({onResolve, onLoad}) {
		onResolve({filter: /^[a-z\d:/_]+$/}, ({path, kind, namespace}) => {
			if (namespace === NAMESPACE || !isBuiltin(path)) return undefined;
			const name = path.replace(/^node:/, '');
			if (!AT_ONCE.has(name)) return {path: name, namespace: NAMESPACE};
			const isShared = kind === 'import-statement';
			return isShared ? {path: name, namespace: NAMESPACE, sideEffects: false} : {path: `node:${name}`, external: true};
		});
		// But for the stand-in itself, which wants the real one.
		onResolve({filter: /^bufferutil$/}, ({importer}) =>
			importer === LAZY_BUFFERUTIL ? {path: 'bufferutil', external: true} : {path: LAZY_BUFFERUTIL},
		);
		onLoad({filter: /.*/, namespace: NAMESPACE}, ({path}) => ({
			contents: AT_ONCE.has(path) ? taken(path) : standIn(path),
			loader: 'js',
		}));
	},
};

/** Members that nobody uses are left out by the bundler. */
function taken(name) {
	return [
		`const all = /* @__PURE__ */ require('node:${name}');`,
		...membersOf(name).map(member => `export const ${member} = /* @__PURE__ */ (() => all.${member})();`),
		'export default all;',
	].join('\n');
}

/**
 * Members are inherited: each module that imports a stand-in gets a copy of what is its own, from the bundler, and copies
 * of hundreds of members take milliseconds of every start. A plain value is put in front of its getter when it is used.
 */
function standIn(name) {
	const all = require(`node:${name}`);
	const isForwarded = member =>
		FORWARDED.has(name) && /^[a-z]/.test(member) && typeof descriptorOf(all, member).value === 'function';
	const members = membersOf(name);
	const isConstant = member => descriptorOf(all, member).value !== undefined;
	return [
		'let all;',
		`const load = () => (all ??= require('node:${name}'));`,
		// A few built-in modules are functions with members.
		typeof all === 'function'
			? 'module.exports = function (...given) { return new.target ? new (load())(...given) : load()(...given); };'
			: '',
		'const members = Object.create(Object.getPrototypeOf(module.exports));',
		'Object.setPrototypeOf(module.exports, members);',
		name === 'module' ? OWN_REQUIRE : '',
		define(members.filter(isForwarded), 'value: (...given) => load()[member](...given)'),
		define(
			members.filter(member => isConstant(member) && !isForwarded(member) && member !== 'createRequire'),
			`configurable: true, get() { const value = load()[member]; Object.defineProperty(members, member, {value}); return value; }`,
		),
		define(
			members.filter(member => !isConstant(member)),
			'get: () => load()[member]',
		),
	].join('\n');
}

function define(members, what) {
	if (members.length === 0) return '';
	return `for (const member of '${members.join(' ')}'.split(' ')) Object.defineProperty(members, member, {${what}});`;
}

/** Deprecated members, too, which are not enumerable: `ws` uses those of zlib. */
function membersOf(name) {
	const all = require(`node:${name}`);
	const ofFunctions = typeof all === 'function' ? Object.getOwnPropertyNames(() => {}).concat('prototype') : [];
	return Object.getOwnPropertyNames(all).filter(
		member => member !== 'default' && /^[\w$]+$/.test(member) && !ofFunctions.includes(member),
	);
}

function descriptorOf(all, member) {
	return Object.getOwnPropertyDescriptor(all, member);
}
