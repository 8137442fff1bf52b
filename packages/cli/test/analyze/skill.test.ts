import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { skillFile, skillText } from '../../src/analyze/skill.ts'
import { runProgram } from '../support/program.ts'

const run = promisify(execFile)

const race = `export class Client {
  session: Session | undefined
  async connect() {
    if (!this.session) this.session = await open()
    return this.session
  }
  close() {
    this.session?.close()
    this.session = undefined
  }
}
`

async function project(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-skill-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await mkdir(path.join(folder, 'src'))
  await writeFile(path.join(folder, 'src/client.ts'), '// empty\n')
  const git = (...args: string[]) => run('git', args, { cwd: folder })
  await git('init', '--quiet')
  await git('add', '-A')
  await git('-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '--quiet', '-m', 'first')
  await writeFile(path.join(folder, 'src/client.ts'), race)
  return folder
}

/** The commands in the blocks of the skill. */
function commands(): string[] {
  const blocks = skillText.matchAll(/^```sh\n([^]*?)^```/gm)
  return Array.from(blocks, ([, block]) => block!.trim().split('\n')).flat()
}

test('every command of the skill runs and answers', async (t) => {
  const folder = await project(t)
  const all = commands()
  assert.ok(all.length >= 8)
  for (const command of all) {
    const [line, input] = command.split(' < ')
    const [program, ...args] = line!.split(' ')
    assert.equal(program, 'heddle')
    const stdin = input === undefined ? '' : await readFile(path.join(folder, input), 'utf8')
    const { code, stdout, stderr } = await runProgram(args, { cwd: folder, stdin })
    const isAboutRace = !args.includes('--explain') && !args.includes('--inventory')
    assert.equal(code, isAboutRace ? 1 : 0, `${command}\n${stdout}${stderr}`)
    if (isAboutRace || args.includes('--explain')) assert.match(stdout, /H101/, command)
    else assert.match(stdout, /Client/, command)
  }
})

test('heddle init --skill writes the skill and nothing else, and keeps one that is there', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-skill-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = path.join(folder, skillFile)
  const first = await runProgram(['init', '--skill'], { cwd: folder })
  assert.deepEqual([first.code, first.stdout], [0, `  + ${skillFile}\n`])
  assert.equal(await readFile(file, 'utf8'), skillText)
  await writeFile(file, 'mine')
  const second = await runProgram(['init', '--skill'], { cwd: folder })
  assert.equal(second.code, 0)
  assert.match(second.stdout, /kept as it is/)
  assert.equal(await readFile(file, 'utf8'), 'mine')
})
