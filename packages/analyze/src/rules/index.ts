/** The race rules, in the order in which they are run. */
import type { UnnamedFinding } from '../baseline/fingerprint.ts'
import type { Diagnostic } from '../analysis.ts'
import { levels } from '../finding.ts'
import type { RulePage } from '../explain/page.ts'
import { areOfOneCopy, isOfCopy } from '../ir/splice.ts'
import { toFinding } from './draft.ts'
import type { Draft } from './draft.ts'
import { checkThenAct, checkThenActPage } from './check-then-act.ts'
import { checkThenSubscribe, checkThenSubscribePage } from './check-then-subscribe.ts'
import { externalCheckThenUse, externalCheckThenUsePage } from './external-check-then-use.ts'
import { reentrantCallback, reentrantCallbackPage } from './reentrant-callback.ts'
import { clearedLate, clearedLatePage } from './cleared-late.ts'
import { filteredOnce, filteredOncePage } from './filtered-once.ts'
import { useAfterAwait, useAfterAwaitPage } from './use-after-await.ts'
import { supersededCompletion, supersededCompletionPage } from './superseded-completion.ts'
import { handedOutUnready, handedOutUnreadyPage } from './handed-out-unready.ts'
import { calledBackTwice, calledBackTwicePage } from './called-back-twice.ts'
import { endedTwice, endedTwicePage } from './ended-twice.ts'
import { oldHandleEvent, oldHandleEventPage } from './old-handle-event.ts'
import { announcedEarly, announcedEarlyPage } from './announced-early.ts'
import {
  invalidatedWhileLoading,
  invalidatedWhileLoadingPage,
} from './invalidated-while-loading.ts'
import { outlivesSubscription, outlivesSubscriptionPage } from './outlives-subscription.ts'
import { raceLoserLeaks, raceLoserLeaksPage } from './race-loser-leaks.ts'
import { earlyCompletion, earlyCompletionPage } from './early-completion.ts'
import { assumedEntry, assumedEntryPage } from './assumed-entry.ts'
import { guardRemovedEarly, guardRemovedEarlyPage } from './guard-removed-early.ts'
import { timedAcquireIgnored, timedAcquireIgnoredPage } from './timed-acquire-ignored.ts'
import { releaseNotOnAllPaths, releaseNotOnAllPathsPage } from './release-not-on-all-paths.ts'
import { registeredTooLate, registeredTooLatePage } from './registered-too-late.ts'
import { renewalStopsEarly, renewalStopsEarlyPage } from './renewal-stops-early.ts'
import { guardKeyMismatch, guardKeyMismatchPage } from './guard-key-mismatch.ts'
import { unboundedCleanupWait, unboundedCleanupWaitPage } from './unbounded-cleanup-wait.ts'
import { unguardedWrite, unguardedWritePage } from './unguarded-write.ts'
import { inconsistentGuard, inconsistentGuardPage } from './inconsistent-guard.ts'
import { overlappingTimer, overlappingTimerPage } from './overlapping-timer.ts'
import { sharedRemoteState, sharedRemoteStatePage } from './shared-remote-state.ts'
import { sleepAsSynchronisation, sleepAsSynchronisationPage } from './sleep-as-synchronisation.ts'
import { readModifyWrite, readModifyWritePage } from './read-modify-write.ts'
import { resetThenFill, resetThenFillPage } from './reset-then-fill.ts'
import { tornPair, tornPairPage } from './torn-pair.ts'
import { floatingDependency, floatingDependencyPage } from './floating-dependency.ts'
import { lateRead, lateReadPage } from './late-read.ts'
import { releasedInUse, releasedInUsePage } from './released-in-use.ts'
import { supersededResult, supersededResultPage } from './superseded-result.ts'
import { markedLate, markedLatePage } from './marked-late.ts'
import { lateTimer, lateTimerPage } from './late-timer.ts'
import { waitersLeft, waitersLeftPage } from './waiters-left.ts'
import { restartedAfterStop, restartedAfterStopPage } from './restarted-after-stop.ts'
import { drainedThenReset, drainedThenResetPage } from './drained-then-reset.ts'
import { passedBy, passedByPage } from './passed-by.ts'
import { answeredEarly, answeredEarlyPage } from './answered-early.ts'
import { drainedWhileOpen, drainedWhileOpenPage } from './drained-while-open.ts'
import { ambientValue, ambientValuePage } from './ambient-value.ts'
import { inconsistentCheck, inconsistentCheckPage } from './inconsistent-check.ts'
import { openedAfterClose, openedAfterClosePage } from './opened-after-close.ts'
import { overwrittenWaiter, overwrittenWaiterPage } from './overwritten-waiter.ts'
import type { Model } from './program-model.ts'
import { SharedAccesses } from './shared-accesses.ts'

export type Rule = (model: Model) => Draft[]

export interface RaceRule {
  readonly page: RulePage
  readonly find: Rule
}

/** A rule is one file: its search, its messages, and the page that explains it. */
const rules: readonly RaceRule[] = [
  { page: checkThenActPage, find: checkThenAct },
  { page: checkThenSubscribePage, find: checkThenSubscribe },
  { page: externalCheckThenUsePage, find: externalCheckThenUse },
  { page: reentrantCallbackPage, find: reentrantCallback },
  { page: useAfterAwaitPage, find: useAfterAwait },
  { page: supersededCompletionPage, find: supersededCompletion },
  { page: earlyCompletionPage, find: earlyCompletion },
  { page: assumedEntryPage, find: assumedEntry },
  { page: supersededResultPage, find: supersededResult },
  { page: lateTimerPage, find: lateTimer },
  { page: handedOutUnreadyPage, find: handedOutUnready },
  { page: calledBackTwicePage, find: calledBackTwice },
  { page: oldHandleEventPage, find: oldHandleEvent },
  { page: invalidatedWhileLoadingPage, find: invalidatedWhileLoading },
  { page: passedByPage, find: passedBy },
  { page: endedTwicePage, find: endedTwice },
  { page: inconsistentCheckPage, find: inconsistentCheck },
  { page: guardRemovedEarlyPage, find: guardRemovedEarly },
  { page: timedAcquireIgnoredPage, find: timedAcquireIgnored },
  { page: releaseNotOnAllPathsPage, find: releaseNotOnAllPaths },
  { page: registeredTooLatePage, find: registeredTooLate },
  { page: renewalStopsEarlyPage, find: renewalStopsEarly },
  { page: guardKeyMismatchPage, find: guardKeyMismatch },
  { page: unboundedCleanupWaitPage, find: unboundedCleanupWait },
  { page: restartedAfterStopPage, find: restartedAfterStop },
  { page: releasedInUsePage, find: releasedInUse },
  { page: raceLoserLeaksPage, find: raceLoserLeaks },
  { page: outlivesSubscriptionPage, find: outlivesSubscription },
  { page: openedAfterClosePage, find: openedAfterClose },
  { page: overwrittenWaiterPage, find: overwrittenWaiter },
  { page: filteredOncePage, find: filteredOnce },
  { page: unguardedWritePage, find: unguardedWrite },
  { page: inconsistentGuardPage, find: inconsistentGuard },
  { page: overlappingTimerPage, find: overlappingTimer },
  { page: sharedRemoteStatePage, find: sharedRemoteState },
  { page: sleepAsSynchronisationPage, find: sleepAsSynchronisation },
  { page: markedLatePage, find: markedLate },
  { page: waitersLeftPage, find: waitersLeft },
  { page: drainedWhileOpenPage, find: drainedWhileOpen },
  { page: ambientValuePage, find: ambientValue },
  { page: readModifyWritePage, find: readModifyWrite },
  { page: resetThenFillPage, find: resetThenFill },
  { page: tornPairPage, find: tornPair },
  { page: floatingDependencyPage, find: floatingDependency },
  { page: lateReadPage, find: lateRead },
  { page: drainedThenResetPage, find: drainedThenReset },
  { page: announcedEarlyPage, find: announcedEarly },
  { page: answeredEarlyPage, find: answeredEarly },
  { page: clearedLatePage, find: clearedLate },
]

export const racePages: readonly RulePage[] = rules.map(({ page }) => page)

export const raceRules: ReadonlyMap<string, Rule> = new Map(
  rules.map(({ page, find }) => [page.id, find]),
)

export interface RuleResults {
  readonly findings: readonly UnnamedFinding[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Runs the rules. A rule that fails is reported and does not take the others with it. */
export function runRules(model: Model, wanted?: readonly string[]): RuleResults {
  const findings: UnnamedFinding[] = []
  const diagnostics: Diagnostic[] = []
  const attempt = (name: string, work: () => void): void => {
    try {
      work()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      diagnostics.push({
        kind: 'rule-failed',
        message: `Rule ${name} failed: ${reason}`,
        isIncomplete: true,
      })
    }
  }
  const drafts = new Map<string, readonly Draft[]>()
  for (const [name, rule] of raceRules)
    if (wanted === undefined || wanted.includes(name))
      attempt(name, () => drafts.set(name, rule(model)))
  leaveOutRepeated(drafts)
  const accesses = new SharedAccesses(
    model.summaries.uses,
    drafts
      .values()
      .flatMap((all) => all)
      .flatMap(({ locations }) => locations),
  )
  for (const [name, all] of drafts)
    attempt(name, () => {
      for (const draft of all) findings.push(toFinding(draft, accesses))
    })
  return { findings, diagnostics }
}

/** Rules that say less than another one about the same write: then the other one is enough. */
const lesser: readonly string[] = ['H312']

function leaveOutRepeated(drafts: Map<string, readonly Draft[]>): void {
  for (const [rule, own] of drafts) if (own.length > 0) drafts.set(rule, withoutCopies(rule, own))
  for (const rule of lesser) {
    const own = drafts.get(rule)
    if (own === undefined || own.length === 0) continue
    const said = new Set<string>()
    for (const [name, others] of drafts)
      if (name !== rule)
        for (const draft of others) if (draft.level !== 'note') said.add(placeOf(draft))
    drafts.set(
      rule,
      own.filter((draft) => !said.has(placeOf(draft))),
    )
  }
}

function placeOf({ act }: Draft): string {
  return `${act.owner.file.path}:${act.start}`
}

/**
 * The effects of a function are also in the graphs of its callers. An act that is reported with a check of the
 * same function is not reported with one of a caller as well, and no pair is reported twice.
 */
function withoutCopies(rule: string, drafts: readonly Draft[]): readonly Draft[] {
  const isWhole = ({ check, act }: Draft): boolean => check.owner.host === act.owner.host
  const whole = new Set(drafts.filter(isWhole).map(placeOf))
  const pairs = new Map<string, Draft>()
  for (const draft of drafts) {
    if (isWhole(draft) ? isCopied(draft) : whole.has(placeOf(draft))) continue
    if (isAsked(draft) || (isOfCopy(draft.act) && !following.has(rule))) continue
    const { check, locations } = draft
    const names = locations.map(({ name }) => name).join(' ')
    const pair = `${placeOf(draft)} ${check.owner.file.path}:${check.start} ${names}`
    const known = pairs.get(pair)
    if (known === undefined || rankOf(draft) < rankOf(known)) pairs.set(pair, draft)
  }
  return [...pairs.values()]
}

/** All of it is in one region of a callee, which is checked by itself. */
function isCopied({ check, act, suspensions }: Draft): boolean {
  return suspensions.length === 0 && areOfOneCopy(check, act)
}

/** Rules about writes. A callee may check a handle itself. */
const following: ReadonlySet<string> = new Set([
  'H101',
  'H205',
  'H210',
  'H308',
  'H312',
  'H408',
  'H501',
  'H506',
])

/** The check is in a function that is called, and that is neither a getter nor a setter: its own matter. */
function isAsked({ check, steps }: Draft): boolean {
  return isOfCopy(check) || (steps[0] !== undefined && isOfCopy(steps[0].at))
}

function rankOf({ level }: Draft): number {
  return levels.indexOf(level)
}
