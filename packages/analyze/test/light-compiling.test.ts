import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

const module = new URL('../src/light-compiling.ts', import.meta.url).href

/** V8's trace of its compilers for a function that has been called very often. */
function traceOf(setting: string): readonly string[] {
  const program = `
    const { compileLightly } = await import(${JSON.stringify(module)})
    ${setting}
    function spin(n) {
      let sum = 0
      for (let i = 0; i < n; i += 1) sum = (sum + i) % 1000
      return sum
    }
    for (let i = 0; i < 200_000; i += 1) spin(i % 100)`
  // In step with the program: on a busy machine it would end before a thread has compiled anything.
  const flags = ['--trace-opt', '--no-concurrent-recompilation']
  const options = [...flags, '--input-type=module', '-e', program]
  const trace = execFileSync(process.execPath, options, { encoding: 'utf8' })
  return trace.split('\n').filter((line) => line.includes('<JSFunction spin'))
}

test('the last optimising compiler is left out, the one before it is not', () => {
  const usual = traceOf('').join('\n')
  assert.match(usual, /TURBOFAN/)
  const light = traceOf('compileLightly()').join('\n')
  assert.match(light, /MAGLEV/)
  assert.doesNotMatch(light, /TURBOFAN/)
})
