import assert from 'node:assert/strict'
import { execFileSync, spawn, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import inspector from 'node:inspector'
import { test } from 'node:test'
import { setTimeout as wait, setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isError } from '../../src/errors.ts'
import type { Collector } from '../../src/kernel/collector.ts'
import { isWatching, runBlamed } from '../../src/watch/blame.ts'
import { serviceConformance } from '../../src/testing/service-conformance.ts'
import type { LoopGap } from '../../src/watch/gap-log.ts'
import { LoopWatch, type LoopWatchOptions } from '../../src/watch/loop-watch.ts'
import { beatOf, busyLoop, longestBlock, looks, seen, undisturbed } from './blocking.ts'

const blocking = fileURLToPath(new URL('./blocking.ts', import.meta.url))

function waitOnAtomics(milliseconds: number): void {
  const { looks: before } = seen
  const start = performance.now()
  do Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
  while (seen.looks === before && performance.now() - start < longestBlock)
}

function runAnotherProgram(milliseconds: number): void {
  const { looks: before } = seen
  const start = performance.now()
  do execFileSync(process.execPath, ['-e', `setTimeout(() => {}, ${milliseconds})`])
  while (seen.looks === before && performance.now() - start < longestBlock)
}

function nextGap(watch: LoopWatch): Promise<LoopGap> {
  return new Promise((resolve) => {
    // The beat does not keep the process alive, so this timer does until the gap is reported.
    const alive = setInterval(() => {}, 1000)
    const listening = watch.onGap((gap) => {
      clearInterval(alive)
      listening[Symbol.dispose]()
      resolve(gap)
    })
  })
}

/** Blocks the loop in one of several jobs that run at the same time. */
async function gapOf(block: (milliseconds: number) => void, options: LoopWatchOptions = {}) {
  await using watch = new LoopWatch({ threshold: 100, ...options })
  await watch.start()
  assert.equal(watch.stats().blindness, undefined)
  let reported: Promise<LoopGap>
  const guilty = runBlamed('job "parse"', async () => {
    await undisturbed(() => beatOf(watch))
    reported = nextGap(watch)
    block(300)
  })
  const innocent = runBlamed('job "plot"', async () => {
    for (let i = 0; i < 5; i++) await turn()
  })
  await Promise.all([guilty, innocent])
  return { gap: await reported!, stats: watch.stats() }
}

async function child(fixture: string, flags: string[] = [], options: SpawnOptions = {}) {
  const file = fileURLToPath(new URL(`./fixtures/${fixture}`, import.meta.url))
  const running = spawn(process.execPath, [...flags, file], { stdio: 'pipe', ...options })
  let out = ''
  let err = ''
  running.stdout!.on('data', (text) => (out += String(text)))
  running.stderr!.on('data', (text) => (err += String(text)))
  const [code, signal] = (await once(running, 'close')) as [number | null, string | null]
  return { code, signal, out, err }
}

test('S60 a synchronous block of 300 ms is reported with label, function and source position', async () => {
  const { gap, stats } = await gapOf(busyLoop)
  assert.ok(gap.ms >= 250, `reported ${gap.ms} ms`)
  assert.equal(gap.label, 'job "parse"')
  assert.match(gap.stack[0]!, new RegExp(`^busyLoop \\(${blocking}:\\d+:\\d+\\)$`))
  assert.ok(gap.stack.length > 1, 'the caller is on the stack')
  assert.ok(gap.stack.every((frame) => !frame.includes('node:internal')))
  assert.ok(stats.longest >= gap.ms)
  assert.deepEqual(stats.recent.at(-1), gap)
  assert.equal(stats.state, 'running')
})

test('I2: JavaScript is sampled while it is stuck', async () => {
  // On a machine with more work than processors the watchdog itself can be late.
  for (let tries = 10; tries > 0; tries--) if ((await gapOf(busyLoop)).gap.certain) return
  assert.fail('no look was in time')
})

test('a block inside Atomics.wait is reported with label and function', async () => {
  const { gap } = await gapOf(waitOnAtomics)
  assert.ok(gap.ms >= 250, `reported ${gap.ms} ms`)
  assert.equal(gap.label, 'job "parse"')
  assert.match(gap.stack[0]!, /^waitOnAtomics /)
})

test('I2: a block in native code that is not known is seen right after it, and says so', async () => {
  // The look may also fall into the JavaScript around the native call, if that is slow.
  for (let tries = 10; tries > 0; tries--) {
    const { gap } = await gapOf(runAnotherProgram, { nativeCalls: false })
    assert.ok(gap.ms >= 250, `reported ${gap.ms} ms`)
    assert.equal(gap.label, 'job "parse"')
    assert.match(gap.stack[0]!, /^runAnotherProgram /)
    assert.ok(
      gap.stack.some((frame) => frame.startsWith('execFileSync (node:child_process')),
      gap.stack.join('\n'),
    )
    if (!gap.certain) return
  }
  assert.fail('every look claims to have been in time')
})

const largeText = `[${'[1,2,3],'.repeat(4_000_000)}0]`

/** V8 cannot interrupt the native function, and nothing of this one is left to be seen after it. */
const parseLargeText = (): unknown => JSON.parse(largeText)

async function gapOfParsing(nativeCalls: boolean): Promise<LoopGap> {
  await using watch = new LoopWatch({ threshold: 50, nativeCalls })
  await watch.start()
  await undisturbed(() => beatOf(watch))
  const reported = nextGap(watch)
  await runBlamed('job "parse"', async () => {
    await turn()
    return parseLargeText()
  })
  return await reported
}

test('I8: native code is blamed on the line that called it', async () => {
  // On a machine with more work than processors the watchdog itself can be late.
  for (let tries = 10; tries > 0; tries--) {
    const { label, stack } = await gapOfParsing(true)
    if (label === 'job "parse"' && stack[0]?.startsWith('parseLargeText (')) return
  }
  assert.fail('no gap was blamed on the line that called JSON.parse')
})

test('I7: a block that the machine caused is not reported, and counted', async () => {
  let queued = 0
  await using watch = new LoopWatch({
    threshold: 100,
    // Simulates a machine that ran something else all the time.
    processor: () => ({
      read: () => ({ ran: 0, queued: (queued += 1e6) }),
      [Symbol.dispose]: () => {},
    }),
  })
  await watch.start()
  await beatOf(watch)
  busyLoop(300)
  await watch.stop()
  const { gaps, starved, longest } = watch.stats()
  assert.deepEqual({ gaps, longest }, { gaps: 0, longest: 0 })
  assert.ok(starved.gaps >= 1 && starved.longest >= 250)
})

/** A collector that is busy all the time, or never. */
function collectorOf(share: 0 | 1): Collector & { readonly asked: [from: number, to: number][] } {
  const asked: [from: number, to: number][] = []
  return {
    asked,
    within(from, to) {
      asked.push([from, to])
      return share * (to - from)
    },
    [Symbol.dispose]: () => {},
  }
}

test('I9: a pause of the collector is reported as such, not as the line and the job it fell into', async () => {
  const collector = collectorOf(1)
  const { gap } = await gapOf(busyLoop, { collector: () => collector })
  assert.deepEqual([gap.label, gap.stack, gap.isCollection], [undefined, [], true])
  assert.ok(gap.collector! >= 250, `${gap.collector} ms`)
  const [from, to] = collector.asked.at(-1)!
  assert.ok(to - from >= 250, 'it is asked about the time of the gap')
})

test('I9: without pauses of the collector the line is blamed', async () => {
  const { gap } = await gapOf(busyLoop, { collector: () => collectorOf(0) })
  assert.deepEqual(
    [gap.label, gap.collector, gap.isCollection],
    ['job "parse"', undefined, undefined],
  )
  assert.match(gap.stack[0]!, /^busyLoop /)
})

test('I3: no inspector port is opened, and the session shows no debugger', async () => {
  await using watch = new LoopWatch()
  await watch.start()
  assert.equal(inspector.url(), undefined)
})

test('no gap is reported while the loop idles', async () => {
  await using watch = new LoopWatch({ threshold: 500, interval: 5 })
  await watch.start()
  while (watch.stats().delays.count < 20) await wait(5)
  assert.equal(watch.stats().gaps, 0)
  assert.deepEqual(watch.stats().recent, [])
})

serviceConformance('loop watch', () => ({ service: new LoopWatch(), held: () => looks.size }))

test('a watch that was not started, and one that was stopped, say so; it can be started again', async () => {
  const watch = new LoopWatch({ threshold: 100 })
  assert.equal(watch.stats().state, 'stopped')
  assert.equal(isWatching(), false)
  await watch.start()
  await watch.start()
  assert.equal(isWatching(), true)
  await watch.stop()
  await watch.stop()
  assert.equal(isWatching(), false)
  assert.equal(watch.stats().state, 'stopped')
  assert.match(watch.stats().blindness!, /stopped/)

  await watch.start()
  await undisturbed(() => beatOf(watch))
  const reported = nextGap(watch)
  busyLoop(300)
  assert.match((await reported).stack[0]!, /^busyLoop /)
  await watch.stop()
})

test('stop() while it starts ends the wait and leaves no thread', async () => {
  const watch = new LoopWatch()
  const started = watch.start()
  const stopped = watch.stop()
  await started
  await stopped
  assert.equal(watch.stats().state, 'stopped')
  assert.equal(isWatching(), false)
  assert.equal(looks.size, 0)
})

test('stop() reports a gap that is just ending', async () => {
  const watch = new LoopWatch({ threshold: 100 })
  await watch.start()
  await beatOf(watch)
  const { gaps } = watch.stats()
  busyLoop(300)
  await watch.stop()
  assert.equal(watch.stats().gaps, gaps + 1)
})

test('waiting for the start can be cancelled', async () => {
  await using watch = new LoopWatch()
  const controller = new AbortController()
  const started = watch.start({ signal: controller.signal })
  controller.abort(new Error('no longer needed'))
  await assert.rejects(started, (error) => isError(error, 'HDL_CANCELLED'))
  await watch.start()
  assert.equal(watch.stats().state, 'running')
})

test('a listener that throws does not affect the others; each registration ends alone', async () => {
  await using watch = new LoopWatch({ threshold: 100 })
  await watch.start()
  await beatOf(watch)
  const heard: string[] = []
  const broken = watch.onGap(() => {
    heard.push('broken')
    throw new Error('broken listener')
  })
  const same = (): void => void heard.push('same')
  const one = watch.onGap(same)
  watch.onGap(same)
  one[Symbol.dispose]()
  one[Symbol.dispose]()
  const reported = nextGap(watch)
  busyLoop(300)
  await reported
  assert.deepEqual(heard, ['broken', 'same'])
  assert.equal(watch.stats().listenerErrors, 1)
  broken[Symbol.dispose]()
})

test('two watches at the same time both see the gap', async () => {
  await using first = new LoopWatch({ threshold: 100 })
  await using second = new LoopWatch({ threshold: 50 })
  await Promise.all([first.start(), second.start()])
  await undisturbed(() => Promise.all([beatOf(first), beatOf(second)]))
  const reported = Promise.all([nextGap(first), nextGap(second)])
  busyLoop(300, 2)
  for (const gap of await reported) assert.match(gap.stack[0]!, /^busyLoop /)
})

test('I5: the stack is cut at `depth`', async () => {
  const recurse = (depth: number): void => (depth === 0 ? busyLoop(300) : recurse(depth - 1))
  const { gap } = await gapOf(() => recurse(50), { depth: 7 })
  assert.equal(gap.stack.length, 7)
})

test('wrong options are refused where they are made', () => {
  for (const options of [{ threshold: -1 }, { interval: 0 }, { keep: 0 }, { depth: 1.5 }]) {
    assert.throws(
      () => new LoopWatch(options),
      (error) => isError(error, 'HDL_BAD_OPTION'),
    )
  }
})

test('I4: a program with a running watch ends by itself, without any output of its own', async () => {
  const { code, out, err } = await child('idle.ts')
  assert.deepEqual({ code, out, err }, { code: 0, out: 'running\n', err: '' })
})

test('I4: process.exit() ends a program with a running watch', async () => {
  const { code, err } = await child('exit.ts')
  assert.deepEqual({ code, err }, { code: 7, err: '' })
})

for (const [missing, flags] of [
  ['threads', ['--allow-inspector']],
  ['the inspector', ['--allow-worker']],
] as const) {
  // Node 22 has no permission for the inspector that could be given.
  const isUnknown = !flags.every((flag) => process.allowedNodeEnvironmentFlags.has(flag))
  const skip = isUnknown && `this Node has no ${flags.join()}`
  test(
    `I6: without the permission for ${missing} gaps are measured without stack`,
    { skip },
    async () => {
      const { code, out, err } = await child('blocked.ts', [
        '--permission',
        '--allow-fs-read=*',
        ...flags,
      ])
      assert.equal(code, 0, err)
      const told = JSON.parse(out) as { gap: LoopGap; blindness: string }
      assert.ok(told.gap.ms >= 250)
      assert.deepEqual(told.gap.stack, [])
      assert.match(told.blindness, /--allow-|permission/i)
    },
  )
}

test('I3: with an open debugger port the stack is taken, and nothing stops', async () => {
  const { code, out } = await child('blocked.ts', ['--inspect=127.0.0.1:0'])
  assert.equal(code, 0)
  const told = JSON.parse(out) as { gap: LoopGap; blindness?: string }
  assert.equal(told.blindness, undefined)
  assert.match(told.gap.stack[0]!, /^busyLoop /)
})

test('in a thread gaps are measured without stack, and the reason is reported', async () => {
  const { code, out, err } = await child('in-thread.ts')
  assert.equal(code, 0, err)
  const told = JSON.parse(out) as { gap: LoopGap; blindness: string }
  assert.ok(told.gap.ms >= 250)
  assert.deepEqual(told.gap.stack, [])
  assert.match(told.blindness, /main thread/)
})
