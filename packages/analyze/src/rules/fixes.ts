/**
 * Templates of repairs, as maintainers really used them on races of each kind.
 *
 * `steps` is the range of the trace that can no longer interleave, counted from 1.
 */
import type { Fix } from '../finding.ts'

type Steps = readonly [first: number, last: number]

export function singleFlight(field: string, work: string, closes: Steps): Fix {
  return {
    title: 'Share one running operation',
    sketch: `this.pending ??= ${work}.finally(() => { this.pending = undefined })\nreturn this.pending   // ${field} is filled by the one that runs`,
    closes,
    tradeoffs:
      'All callers get the same result, also the same error; options of later callers are ignored.',
    risk: 'low',
    effort: 'simple',
  }
}

export function reserveFirst(field: string, closes: Steps): Fix {
  return {
    title: `Set ${field} before the first suspension`,
    sketch: `if (taken) return\n${field} = …          // in the same region as the check\ntry { await work() } catch (error) { /* give it back */ throw error }`,
    closes,
    tradeoffs: 'Readers see a value that is not ready yet; a failure has to take it back.',
    risk: 'medium',
    effort: 'simple',
  }
}

export function recheck(field: string, closes: Steps): Fix {
  return {
    title: `Check ${field} again after the suspension`,
    sketch: `await work()\nif (/* ${field} has changed */) return   // and undo your work\n${field} = …`,
    closes,
    tradeoffs:
      'The work may be done twice; only one result is kept, and the other has to be disposed of.',
    risk: 'low',
    effort: 'simple',
  }
}

export function mutex(field: string, closes: Steps): Fix {
  return {
    title: `Guard ${field} with a mutex`,
    sketch: 'await this.mutex.runExclusive(async () => {\n  // check, wait, write\n})',
    closes,
    tradeoffs: 'Callers wait for each other; every other access has to take the same mutex.',
    risk: 'medium',
    effort: 'moderate',
  }
}

export function identityCheck(field: string, closes: Steps): Fix {
  return {
    title: `Touch ${field} only while it is still this operation's`,
    sketch: `const mine = (${field} = start())\nawait mine\nif (${field} === mine) ${field} = undefined`,
    closes,
    tradeoffs: 'The operation that was superseded must clean up after itself.',
    risk: 'low',
    effort: 'simple',
  }
}

export function generation(field: string, closes: Steps): Fix {
  return {
    title: 'Number the operations',
    sketch: `const mine = ++this.generation\nawait work()\nif (mine !== this.generation) return   // a newer one owns ${field}`,
    closes,
    tradeoffs: 'Results of superseded operations are thrown away.',
    risk: 'low',
    effort: 'simple',
  }
}

export function awaitIt(call: string, closes: Steps): Fix {
  return {
    title: 'Wait for it',
    sketch: `await ${call}`,
    closes,
    tradeoffs: 'The caller takes longer, and gets its errors.',
    risk: 'low',
    effort: 'simple',
  }
}

export function keepPromise(call: string, closes: Steps): Fix {
  return {
    title: 'Keep the promise and wait where the result matters',
    sketch: `this.saving = ${call}\n// where it is read:\nawait this.saving`,
    closes,
    tradeoffs: 'Every reader has to wait for it; its errors need an owner.',
    risk: 'medium',
    effort: 'moderate',
  }
}

export function registerFirst(registry: string, closes: Steps): Fix {
  return {
    title: `Register in ${registry} before the first suspension`,
    sketch: `${registry}.add(resource)\ntry { await prepare(resource) } catch (error) { ${registry}.delete(resource); throw error }`,
    closes,
    tradeoffs: 'Code that walks the registry meets entries that are not ready.',
    risk: 'low',
    effort: 'simple',
  }
}

export function closedCheck(registry: string, closes: Steps): Fix {
  return {
    title: 'Check after the suspension whether it was closed during the wait',
    sketch: `await prepare(resource)\nif (this.closed) { await resource.close(); return }\n${registry}.add(resource)`,
    closes,
    tradeoffs: 'Needs a flag that close() sets before it walks the registry.',
    risk: 'low',
    effort: 'simple',
  }
}

export function subscribeFirst(closes: Steps): Fix {
  return {
    title: 'Subscribe first, then check',
    sketch: 'const done = once(emitter, "done")\nif (await isDone()) return\nawait done',
    closes,
    tradeoffs: 'The listener has to be removed on every way out.',
    risk: 'low',
    effort: 'moderate',
  }
}

export function pollOnce(closes: Steps): Fix {
  return {
    title: 'Look once more after subscribing',
    sketch: 'emitter.once("done", finish)\nif (await isDone()) finish()',
    closes,
    tradeoffs: 'finish() may be called twice and must be idempotent.',
    risk: 'low',
    effort: 'simple',
  }
}

export function inFinally(field: string, closes: Steps): Fix {
  return {
    title: `Give ${field} back in finally`,
    sketch: `try {\n  await work()\n} finally {\n  ${field} = false\n}`,
    closes,
    tradeoffs: 'None; make sure that only the one that took it gives it back.',
    risk: 'low',
    effort: 'simple',
  }
}

export function scoped(closes: Steps): Fix {
  return {
    title: 'Use the form that releases by itself',
    sketch: 'await lock.runExclusive(() => work())',
    closes,
    tradeoffs: 'What follows inside has to be a function.',
    risk: 'low',
    effort: 'simple',
  }
}

export function noOverlap(call: string, closes: Steps): Fix {
  return {
    title: 'Start the next one when this one has ended',
    sketch: `const tick = async () => {\n  try { await ${call} } finally { timer = setTimeout(tick, interval) }\n}`,
    closes,
    tradeoffs: 'The period is measured from the end of the work, not from its start.',
    risk: 'low',
    effort: 'simple',
  }
}

export function inFlightFlag(call: string, closes: Steps): Fix {
  return {
    title: 'Skip a round while one is running',
    sketch: `if (this.running) return\nthis.running = true\ntry { await ${call} } finally { this.running = false }`,
    closes,
    tradeoffs: 'Triggers that come while it runs are lost; run once more if they matter.',
    risk: 'low',
    effort: 'simple',
  }
}

export function readLate(field: string, closes: Steps): Fix {
  return {
    title: `Read ${field} after the suspension`,
    sketch: `const change = await compute()\n${field} = ${field} + change   // read and write in one region`,
    closes,
    tradeoffs: 'The work cannot depend on the old value.',
    risk: 'low',
    effort: 'simple',
  }
}

export function swapAtOnce(field: string, closes: Steps): Fix {
  return {
    title: `Build the new value aside and swap ${field} once`,
    sketch: `const next = await build()\n${field} = next   // no caller sees it empty`,
    closes,
    tradeoffs: 'Old and new are in memory at the same time.',
    risk: 'low',
    effort: 'simple',
  }
}

export function oneRegion(first: string, second: string, closes: Steps): Fix {
  return {
    title: `Change ${first} and ${second} in one region`,
    sketch: `await work()\n${first} = …\n${second} = …   // nothing is awaited between them`,
    closes,
    tradeoffs: 'Both change later (or earlier) than one of them does now.',
    risk: 'low',
    effort: 'simple',
  }
}

export function exclusiveCreate(closes: Steps): Fix {
  return {
    title: 'Let the store decide: create exclusively and handle the conflict',
    sketch:
      'try { await create(key, value, { flag: "wx" }) } catch (error) { if (!isConflict(error)) throw error }',
    closes,
    tradeoffs: 'Needs a store with exclusive creation, a unique index or compare-and-set.',
    risk: 'low',
    effort: 'moderate',
  }
}

export function transaction(closes: Steps): Fix {
  return {
    title: 'Check and change in one transaction',
    sketch:
      'await store.transaction(async (tx) => {\n  if (await tx.get(key)) return\n  await tx.set(key, value)\n})',
    closes,
    tradeoffs: 'Slower, may have to be repeated on conflict.',
    risk: 'medium',
    effort: 'moderate',
  }
}

export function bounded(closes: Steps): Fix {
  return {
    title: 'Bound the wait',
    sketch: 'await Promise.race([drained, timeout(5_000)])\n// or: pass a signal that ends it',
    closes,
    tradeoffs: 'After the limit the rest is torn down by force.',
    risk: 'low',
    effort: 'simple',
  }
}

export function waitForState(closes: Steps): Fix {
  return {
    title: 'Wait for the state, not for time',
    sketch: 'await once(server, "listening")   // or poll the condition until a deadline',
    closes,
    tradeoffs: 'Needs an event or a condition that can be asked for.',
    risk: 'low',
    effort: 'moderate',
  }
}

export function sameKey(closes: Steps): Fix {
  return {
    title: 'Guard and state by the same key',
    sketch: 'const key = keyOf(request)\nawait locks.acquire(key, () => state.set(key, …))',
    closes,
    tradeoffs: 'A coarser guard serialises more than needed.',
    risk: 'low',
    effort: 'moderate',
  }
}

export function keepGuard(closes: Steps): Fix {
  return {
    title: 'Remove a guard only when no caller holds it or waits for it',
    sketch: 'release()\nif (!lock.isLocked() && locks.get(key) === lock) locks.delete(key)',
    closes,
    tradeoffs: 'The registry keeps busy guards a little longer.',
    risk: 'low',
    effort: 'simple',
  }
}

export function copyFirst(field: string, closes: Steps): Fix {
  return {
    title: `Hand ${field} over as it is now`,
    sketch: `const snapshot = ${field}\nstart(snapshot)\n${field} = next`,
    closes,
    tradeoffs: 'The started work does not see later changes, which is usually intended.',
    risk: 'low',
    effort: 'simple',
  }
}

export function ownSession(closes: Steps): Fix {
  return {
    title: 'Give every operation its own session',
    sketch:
      'const session = await pool.acquire()\ntry { await session.use(db); await session.query(sql) } finally { session.release() }',
    closes,
    tradeoffs: 'More sessions are open at the same time.',
    risk: 'low',
    effort: 'moderate',
  }
}

export function abortWait(stopper: string, closes: Steps): Fix {
  return {
    title: `Let ${stopper} abort the wait`,
    sketch:
      'await work({ signal: this.controller.signal })\n// in the function that stops: this.controller.abort()',
    closes,
    tradeoffs:
      'Every function in between has to take the signal; the task ends with an AbortError.',
    risk: 'medium',
    effort: 'moderate',
  }
}

export function swapBeforeWait(field: string, closes: Steps): Fix {
  return {
    title: `Take ${field} away before the wait`,
    sketch: `const taken = ${field}\n${field} = []          // in the same region\nawait work(taken)`,
    closes,
    tradeoffs: 'When the work fails, the removed value has to be put back or reported.',
    risk: 'low',
    effort: 'simple',
  }
}

export function whileNotEmpty(field: string, closes: Steps): Fix {
  return {
    title: `Remove from ${field} only the used entries`,
    sketch: `while (${field}.length > 0) {\n  const batch = ${field}.splice(0)\n  await work(batch)\n}`,
    closes,
    tradeoffs: 'A steady stream keeps the loop busy: bound it where it must end.',
    risk: 'low',
    effort: 'simple',
  }
}

export function uniqueName(file: string, closes: Steps): Fix {
  return {
    title: 'Give every call a name of its own',
    sketch: `const folder = await mkdtemp(path.join(tmpdir(), 'work-'))\n// ${file} in that folder`,
    closes,
    tradeoffs: 'Files left behind by a crash have to be cleaned up.',
    risk: 'low',
    effort: 'simple',
  }
}

export function markFirst(flag: string, closes: Steps): Fix {
  return {
    title: `Set ${flag} before the first suspension`,
    sketch: `${flag} = true          // nothing new is accepted from here on\nawait everythingThatIsOpen()`,
    closes,
    tradeoffs: 'Callers are refused earlier, also when the shutdown fails.',
    risk: 'low',
    effort: 'simple',
  }
}

export function clearWithEntry(container: string, closes: Steps): Fix {
  return {
    title: `Clear the timer where the entry of ${container} is removed`,
    sketch: `clearTimeout(entry.timer)\n${container}.delete(key)`,
    closes,
    tradeoffs: 'The timer has to be kept with the entry.',
    risk: 'low',
    effort: 'simple',
  }
}

export function settleWaiters(container: string, closes: Steps): Fix {
  return {
    title: `Reject the callers that wait in ${container}`,
    sketch: `for (const waiter of ${container}.splice(0)) waiter.reject(new Error('closed'))`,
    closes,
    tradeoffs: 'Callers have to handle the rejection.',
    risk: 'low',
    effort: 'simple',
  }
}

export function callOnce(callback: string, closes: Steps): Fix {
  return {
    title: `Let only the first call of ${callback} count`,
    sketch: `let isDone = false\nconst finish = (...args) => {\n  if (isDone) return\n  isDone = true\n  ${callback}(...args)\n}`,
    closes,
    tradeoffs: 'What arrives too late has to be given back where it arrives.',
    risk: 'low',
    effort: 'simple',
  }
}

export function closeLoser(call: string, closes: Steps): Fix {
  return {
    title: 'Give back what arrives after the race is over',
    sketch: `const opening = ${call}\ntry {\n  return await Promise.race([opening, limit])\n} catch (error) {\n  opening.then((late) => late.close(), () => {})\n  throw error\n}`,
    closes,
    tradeoffs: 'The operation still runs to its end in the background.',
    risk: 'low',
    effort: 'simple',
  }
}

export function cancelLoser(call: string, closes: Steps): Fix {
  return {
    title: 'Cancel the operation when the limit wins',
    sketch: `const signal = AbortSignal.timeout(limit)\nreturn await ${call.replace(/\)$/, '')}, { signal })`,
    closes,
    tradeoffs: 'Every function in between has to take the signal.',
    risk: 'medium',
    effort: 'moderate',
  }
}

export function storePromise(field: string, closes: Steps): Fix {
  return {
    title: `Keep the promise of ${field}, not the object that is not ready`,
    sketch: `${field} ??= open()          // open() makes it, waits until it is ready and returns it\nreturn ${field}`,
    closes,
    tradeoffs: 'A failed start is shared too: clear the field when it rejects.',
    risk: 'low',
    effort: 'simple',
  }
}

export function publishWhenReady(field: string, closes: Steps): Fix {
  return {
    title: `Store ${field} when it is ready`,
    sketch: `const made = make()\nawait made.start()\n${field} = made`,
    closes,
    tradeoffs: 'Two first callers make two of them, unless a guard keeps the second one out.',
    risk: 'medium',
    effort: 'simple',
  }
}

export function removeListener(stopper: string, closes: Steps): Fix {
  return {
    title: `Remove the listener in ${stopper}`,
    sketch: `// in ${stopper}, before it closes\nsocket.off('close', restart)`,
    closes,
    tradeoffs: 'Every listener that restarts has to be known there.',
    risk: 'low',
    effort: 'simple',
  }
}

export function announceLast(field: string, closes: Steps): Fix {
  return {
    title: `Set ${field} before the event`,
    sketch: `${field} = true\nthis.emit('ready')          // listeners find the new state`,
    closes,
    tradeoffs: 'None, unless a listener counts on the old state.',
    risk: 'low',
    effort: 'simple',
  }
}

export function deferEvent(closes: Steps): Fix {
  return {
    title: 'Emit the event when the function is through',
    sketch: "queueMicrotask(() => this.emit('ready'))",
    closes,
    tradeoffs: 'Listeners run later, and an error in one of them no longer reaches this function.',
    risk: 'medium',
    effort: 'simple',
  }
}

export function ignoreWhenEnded(closes: Steps): Fix {
  return {
    title: 'Ignore the answer after the end',
    sketch:
      'let isActive = true\nload().then((value) => { if (isActive) deliver(value) })\nreturn () => { isActive = false }',
    closes,
    tradeoffs: 'The work itself still runs to its end.',
    risk: 'low',
    effort: 'simple',
  }
}

export function endOnCleanup(closes: Steps): Fix {
  return {
    title: 'End the work with the subscription',
    sketch:
      'const controller = new AbortController()\nload({ signal: controller.signal }).then(deliver)\nreturn () => controller.abort()',
    closes,
    tradeoffs: 'The work ends with an AbortError, which has to be left out of the reports.',
    risk: 'low',
    effort: 'simple',
  }
}

export function waitInBoth(wait: string, closes: Steps): Fix {
  return {
    title: 'Wait on both ways',
    sketch: `if (!begun) begin()\n${wait}   // whichever call began it`,
    closes,
    tradeoffs: 'Every call waits for one more turn, also when it has long been ready.',
    risk: 'low',
    effort: 'simple',
  }
}

export function setThenSend(field: string, closes: Steps): Fix {
  return {
    title: `Write ${field} first, then send`,
    sketch: `${field} = …\ntry { await send(message) } catch (error) { /* take it back */ throw error }`,
    closes,
    tradeoffs: 'It stands there before the message is out; a failure to send has to take it back.',
    risk: 'low',
    effort: 'simple',
  }
}

export function keepOpening(field: string, closes: Steps): Fix {
  return {
    title: 'Keep the promise of the opening, and let close wait for it',
    sketch: `this.opening = open()\n${field} = await this.opening\n// in close:\nawait this.opening?.catch(() => {})\n${field}?.close()`,
    closes,
    tradeoffs: 'Closing takes as long as the opening that is under way, so it needs a deadline.',
    risk: 'medium',
    effort: 'moderate',
  }
}

export function onlyFirstEnd(field: string, closes: Steps): Fix {
  return {
    title: 'Do it in the listener of the last event only',
    sketch: `handle.on('error', (error) => { failure = error })\nhandle.on('close', () => { /* ${field}, once */ })`,
    closes,
    tradeoffs:
      'The end is noticed a little later, and only by handles that always emit the last event.',
    risk: 'low',
    effort: 'simple',
  }
}

export function stopIntakeFirst(call: string, closes: Steps): Fix {
  return {
    title: 'Close the intake before the wait',
    sketch: `// first: nothing new is registered any more\n// ${call} moves here where it is the intake\nawait Promise.all(running)`,
    closes,
    tradeoffs: 'Callers that come during the wait are refused and must get an error that says so.',
    risk: 'low',
    effort: 'simple',
  }
}

export function passAlong(field: string, isContext: boolean, closes: Steps): Fix {
  return {
    title: isContext
      ? `Keep ${field} in an AsyncLocalStorage`
      : `Keep ${field} in a variable of the call`,
    sketch: isContext
      ? `const context = new AsyncLocalStorage()\nreturn context.run(value, work)   // readers ask context.getStore()`
      : `const own = value          // no other call sees it\nawait work()\nuse(own)`,
    closes,
    tradeoffs: isContext
      ? 'Readers outside of the call find nothing; every run costs a little.'
      : 'Functions that read the field have to be handed the value.',
    risk: 'low',
    effort: isContext ? 'moderate' : 'simple',
  }
}

export function keepAllWaiters(place: string, closes: Steps): Fix {
  return {
    title: 'Keep every waiting caller',
    sketch: `waiting.push(resolve)                                // instead of ${place} = resolve\nfor (const resolve of waiting.splice(0)) resolve()   // where one was settled`,
    closes,
    tradeoffs: 'All callers that wait get the same answer.',
    risk: 'low',
    effort: 'simple',
  }
}

export function clearFirst(mark: string, closes: Steps): Fix {
  return {
    title: `Clear ${mark} before the work`,
    sketch: `${mark} = false          // in the region that reads the state\nawait work()         // and ${mark} = true again when it fails`,
    closes,
    tradeoffs: 'When the work fails, the mark has to be set again.',
    risk: 'low',
    effort: 'simple',
  }
}

export function keepListening(condition: string, closes: Steps): Fix {
  return {
    title: 'Remove the listener only when the right event has come',
    sketch: `const listener = (event) => {\n  if (/* not ${condition} */) return\n  emitter.off('event', listener)\n  resolve()\n}\nemitter.on('event', listener)`,
    closes,
    tradeoffs: 'The listener has to be removed when the wait is cancelled, too.',
    risk: 'low',
    effort: 'simple',
  }
}
