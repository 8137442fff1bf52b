import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import test from 'node:test'

/** Runs a program that continues after a signal, and returns what it printed and its exit code. */
async function play(program: string): Promise<string> {
  const child = spawn(
    process.execPath,
    ['--conditions=heddle-source', '--input-type=module', '--eval', program],
    { cwd: path.join(import.meta.dirname, '../..'), stdio: ['ignore', 'pipe', 'inherit'] },
  )
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
    // Nothing is left to do in it: only the run keeps it alive.
    if (text.includes('idle')) child.kill('SIGUSR2')
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return `${printed}code ${code}`
}

const skip = process.platform === 'win32' && 'Windows has no such signals'

test('a run that is kept open keeps the process alive while nothing runs', { skip }, async () => {
  const printed = await play(`
    import { Scheduler } from '@heddle/core'
    const s = new Scheduler({ keepOpen: true })
    process.once('SIGUSR2', () => { s.add('later'); s.close() })
    s.add('first')
    const { succeeded } = await s.run((name) => { if (name === 'first') setImmediate(() => console.log('idle')) })
    console.log(succeeded.join())
  `)
  assert.equal(printed, 'idle\nfirst,later\ncode 0')
})

test('a run that is paused keeps the process alive while nothing runs', { skip }, async () => {
  const printed = await play(`
    import { Scheduler } from '@heddle/core'
    const s = new Scheduler()
    process.once('SIGUSR2', () => s.resume())
    s.pause()
    s.add('first')
    setImmediate(() => console.log('idle'))
    const { succeeded } = await s.run(() => {})
    console.log(succeeded.join())
  `)
  assert.equal(printed, 'idle\nfirst\ncode 0')
})
