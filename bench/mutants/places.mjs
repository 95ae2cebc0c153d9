import {parseAst} from 'rolldown/parseAst';
import {changesAt} from './operators.mjs';

/** Syntax of types that wraps an expression: looked into, all other type syntax is not. */
const TYPED_EXPRESSIONS = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression']);
const NOT_ENTERED = new Set(['ImportDeclaration', 'ImportExpression', 'ExportAllDeclaration', 'TemplateLiteral']);
const IS_LOG = /\blogger\b[^(]*$/;
const IS_ERROR = /Error$/;

/** Every change that can be made to a file: `{file, line, start, end, before, after, operator, statement}`. */
export function placesOf(file, source) {
	const places = [];
	const enter = path => {
		const node = path.at(-1);
		if (!isEntered(node, path.at(-2), source)) return;
		for (const {statement = false, ...change} of changesAt(node, path, source)) {
			const before = source.slice(change.start, change.end);
			places.push({file, line: lineOf(source, change.start), before, ...change, statement});
		}
		for (const child of childrenOf(node)) enter([...path, child]);
	};
	enter([parseAst(source, {lang: 'ts'})]);
	return places;
}

/** Neither types nor imports nor what is only read by people: texts, logs and messages of errors. */
function isEntered(node, parent, source) {
	if (node.type.startsWith('TS')) return TYPED_EXPRESSIONS.has(node.type);
	if (NOT_ENTERED.has(node.type)) return false;
	if (parent?.key === node && !parent.computed) return false;
	if (node.type === 'NewExpression') return !IS_ERROR.test(source.slice(node.callee.start, node.callee.end));
	if (node.type === 'UnaryExpression') return node.operator !== 'delete';
	const call = node.type === 'ExpressionStatement' ? node.expression : node;
	return call.type !== 'CallExpression' || !IS_LOG.test(source.slice(call.callee.start, call.callee.end));
}

function childrenOf(node) {
	return Object.values(node)
		.flat()
		.filter(value => typeof value?.type === 'string');
}

function lineOf(source, offset) {
	return source.slice(0, offset).split('\n').length;
}
