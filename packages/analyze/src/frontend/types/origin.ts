import type { Origin } from '../types.ts'

/** Where something is declared, by the path of the declaration. Separators may be of either kind. */
export function originOf(declaredIn: string): Origin {
  const path = declaredIn.replaceAll('\\', '/')
  const at = path.lastIndexOf('/node_modules/')
  // TypeScript 7 carries its library inside the program: `bundled:///libs/lib.es5.d.ts`.
  if (path.startsWith('bundled:')) return { kind: 'language' }
  if (at === -1) return { kind: 'program', file: declaredIn }
  const inside = path.slice(at + '/node_modules/'.length)
  if (/^(?:typescript[^/]*|@typescript\/[^/]+)\/lib\/lib\./.test(inside)) {
    return { kind: 'language' }
  }
  const name = packageName(inside)
  if (name === '@types/node') return { kind: 'node', module: nodeModule(inside) }
  if (name === 'undici-types') return { kind: 'node', module: 'undici' }
  return { kind: 'package', name: untyped(name) }
}

function packageName(inside: string): string {
  return inside
    .split('/')
    .slice(0, inside.startsWith('@') ? 2 : 1)
    .join('/')
}

/** `@types/node/fs/promises.d.ts` declares `fs/promises`; in `ts5.6/` are variants for compilers. */
function nodeModule(inside: string): string {
  return inside
    .slice('@types/node/'.length)
    .replace(/^(?:ts\d[\d.]*|compatibility|web-globals)\//, '')
    .replace(/(?:\.buffer)?\.d\.[cm]?ts$/, '')
}

/** `@types/express` is express, `@types/babel__core` is @babel/core. */
function untyped(name: string): string {
  if (!name.startsWith('@types/')) return name
  const plain = name.slice('@types/'.length)
  const at = plain.indexOf('__')
  return at === -1 ? plain : `@${plain.slice(0, at)}/${plain.slice(at + 2)}`
}
