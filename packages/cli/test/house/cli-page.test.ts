import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { runProgram } from '../support/program.ts'

const page = readFileSync(
  path.resolve(import.meta.dirname, '../../../../docs/reference/cli.md'),
  'utf8',
)

const helps = new Map<string, Promise<string>>()

/** Each command is started once. */
function helpOf(command: string): Promise<string> {
  const known = helps.get(command)
  if (known !== undefined) return known
  const args = [...command.split(' ').filter(Boolean), '--help']
  const help = runProgram(args, { cwd: os.tmpdir() }).then(({ stdout }) => stdout)
  helps.set(command, help)
  return help
}

/** `-c, --concurrency <n>`, as the help and the page write it. */
function optionsIn(text: string): string[] {
  const found = text.matchAll(/^ {2}((?:-\w, )?--[\w-]+(?: [<[][\w .=]+[>\]])?)/gm)
  return Array.from(found, ([, option]) => option!).filter((option) => option !== '-h, --help')
}

const commands = [
  'run',
  'serve',
  'analyze',
  'init',
  'doctor',
  'ui',
  'work',
  ...['list', 'add', 'block', 'unblock', 'link', 'rotate-key'].map((name) => `users ${name}`),
  ...['list', 'show', 'add', 'pause', 'resume', 'delete'].map((name) => `schedules ${name}`),
  ...['list', 'retry', 'cancel'].map((name) => `computations ${name}`),
  ...['list', 'add', 'revoke'].map((name) => `tokens ${name}`),
  ...['plan', 'version', 'publish', 'status', 'rollback'].map((name) => `release ${name}`),
  ...['list', 'show', 'timeline', 'compare', 'export', 'cancel', 'prune', 'copy'].map(
    (name) => `runs ${name}`,
  ),
  ...['artifacts', 'retry', 'send'].map((name) => `runs ${name}`),
]

for (const command of commands) {
  test(`docs/reference/cli.md has every option of heddle ${command}`, async () => {
    const options = optionsIn(await helpOf(command))
    assert.ok(options.length > 0)
    for (const option of options)
      assert.ok(page.includes(`\`${option}\``) || page.includes(`[${option}]`), option)
  })
}

test('docs/reference/cli.md has every command, and no option that does not exist', async () => {
  const all = await Promise.all(commands.map(helpOf))
  const known = new Set(all.flatMap(optionsIn).map((option) => /--[\w-]+/.exec(option)![0]))
  const named = page.matchAll(/`(?:-\w, )?(--[\w-]+)/g)
  for (const [, option] of named) assert.ok(known.has(option!) || option === '--help', option)
  const [, listed] = /Commands:\n([^]*?)\n\n/.exec(await helpOf('')) ?? []
  const names = Array.from(listed!.matchAll(/^ {2}(\w+) /gm), ([, name]) => name!)
  for (const name of names)
    assert.ok(name === 'help' || page.includes(`\n## heddle ${name}\n`), name)
})
