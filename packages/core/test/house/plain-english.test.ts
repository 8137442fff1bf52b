import assert from 'node:assert/strict'
import { test } from 'node:test'
import { files, read } from './tree.ts'

/** Phrases that readers stumble over, with what to write instead. */
const banned: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/(?<!there )\b(?:is|are|was|were) no (?!longer\b|more\b)\w+/gi, '"is not a …"'],
  [/\b(?:somebody|someone|nobody|anybody|anyone|everybody)\b/gi, 'caller, client, user, job'],
  [/\b(?:is|are|was|were|been) told\b(?! apart)/gi, 'reported, notified, answered with'],
  [/\bgo(?:es|ne)? on with\b/gi, 'resume, continue'],
  [/\bwhoever\b/gi, 'the caller, client, process or server that is meant'],
  [/\b(?:became|becomes|become) of\b/gi, 'the outcome of'],
  [/\b(?:told|tells?) apart\b/gi, 'distinguish'],
  [/\banew\b/gi, 'again, or "a new …"'],
  [/\b(?:hears?|heard) of\b/gi, 'is notified of, knows'],
]

/** Beginnings of comments without a subject, with what to write instead. */
const bannedStarts: readonly (readonly [start: RegExp, instead: string])[] = [
  [/^Of [a-z]/, 'its subject: "Limit of all servers", "For a signal: …"'],
  [/^By (?!then\b)[a-z]+[.:,]/, '"Keyed by …", "Indexed by …"'],
  [/^As (?:above|in|post|\{@link)\b/, '"Like …", "See …"'],
]

/** The texts in quotes of a source file: what its users may see. Comments are left out. */
function stringsOf(file: string): { readonly text: string; readonly line: number }[] {
  const source = read(file)
  const tokens =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`/g
  return Array.from(source.matchAll(tokens))
    .filter(([text]) => !text.startsWith('/'))
    .map(({ 0: text, index }) => ({ text, line: source.slice(0, index).split('\n').length }))
}

/** The comments of a source file, without quoted parts. */
function commentsOf(file: string): { readonly text: string; readonly line: number }[] {
  const source = read(file)
  const tokens =
    /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g
  return Array.from(source.matchAll(tokens))
    .filter(([text]) => text.startsWith('/'))
    .map(({ 0: text, index }) => ({
      text: text.replaceAll(/`[^`]*`|"[^"\n]*"/g, '').replaceAll(/\s*\n\s*\*?\s*/g, ' '),
      line: source.slice(0, index).split('\n').length,
    }))
}

/** The titles of tests. */
function titlesOf(file: string): { readonly text: string; readonly line: number }[] {
  const source = read(file)
  const titles = /\b(?:test|describe|it)\(\s*('(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|[^`\\])*`)/g
  return Array.from(source.matchAll(titles), ({ 1: text, index }) => ({
    text: text!,
    line: source.slice(0, index).split('\n').length,
  }))
}

/** Fixtures are code of others, as analyzers and registries meet it; this file names the phrases that it bans. */
function isOurText(file: string): boolean {
  return !file.includes('/fixtures/') && !file.endsWith('house/plain-english.test.ts')
}

function problemsOfComments(file: string): string[] {
  return commentsOf(file).flatMap(({ text, line }) =>
    [...phrasesIn(text), ...startsOf(text)].map((problem) => `${file}:${line}: ${problem}`),
  )
}

function startsOf(text: string): string[] {
  const first = text.replace(/^(?:\/\/|\/\*+)\s*/, '')
  return bannedStarts.flatMap(([start, instead]) => {
    const [found] = start.exec(first) ?? []
    return found === undefined ? [] : [`begins with "${found}", write ${instead}`]
  })
}

function phrasesIn(text: string): string[] {
  return banned.flatMap(([phrase, instead]) =>
    Array.from(text.matchAll(phrase), ([found]) => `"${found}", write ${instead}`),
  )
}

test('a banned phrase is found, and similar phrases are not', () => {
  for (const text of ['This is no module', 'Nobody waits', 'The job is told to stop']) {
    assert.equal(phrasesIn(text).length, 1, text)
  }
  const fine = 'There is no room, it is no longer there, and one becomes two.'
  assert.deepEqual(phrasesIn(fine), [])
  for (const comment of [
    '// Of all servers.',
    '/** By name. */',
    '/* As above, without a name. */',
  ]) {
    assert.equal(startsOf(comment).length, 1, comment)
  }
  assert.deepEqual(startsOf('// By then, the rows have been sent.'), [])
})

test('messages of errors, of the command line and of the server use plain words', () => {
  const sources = files(
    'packages/core/src/errors.ts',
    'packages/cli/src/**/*.ts',
    'packages/server/src/**/*.ts',
    'packages/worker/src/**/*.ts',
  )
  const found = sources.flatMap((file) =>
    stringsOf(file).flatMap(({ text, line }) =>
      phrasesIn(text).map((problem) => `${file}:${line}: ${problem}`),
    ),
  )
  assert.deepEqual(found, [])
})

test('comments of the sources use plain words', () => {
  const sources = files(
    'packages/*/src/**/*.{ts,tsx}',
    '{bench,chaos,scripts,servers,site}/**/*.{ts,mjs}',
  )
  assert.deepEqual(sources.filter(isOurText).flatMap(problemsOfComments), [])
})

test('comments and titles of the tests use plain words', () => {
  // Tests of the server still have some.
  const tests = files('packages/{core,cli,release,worker,ui,analyze}/test/**/*.ts').filter(
    isOurText,
  )
  const titles = tests.flatMap((file) =>
    titlesOf(file).flatMap(({ text, line }) =>
      phrasesIn(text).map((problem) => `${file}:${line}: ${problem}`),
    ),
  )
  assert.deepEqual([...titles, ...tests.flatMap(problemsOfComments)], [])
})

test('the README and the guides use plain words', () => {
  const pages = files('README.md', 'docs/*.md', 'docs/start/*.md', 'docs/guide/*.md')
  const found = pages.flatMap((page) =>
    read(page)
      .split('\n')
      .flatMap((text, n) => phrasesIn(text).map((problem) => `${page}:${n + 1}: ${problem}`)),
  )
  assert.deepEqual(found, [])
})
