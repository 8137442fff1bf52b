/** The twelve races: the story of each, and how it is shown. */
import type { Seen } from './stage.ts'

interface Description {
  /** The folder. */
  readonly name: string
  readonly rule: string
  readonly title: string
  /** Lines of race.ts. */
  readonly check: number
  readonly act: number
  readonly story: string
  readonly repair: string
}

export interface Exhibit extends Description {
  /** Shows the race, or that it is gone. */
  readonly show: (variant: 'race' | 'fixed') => Promise<Seen>
}

/** The demonstration in a folder takes either of its two modules. */
function exhibit(description: Description): Exhibit {
  const { name } = description
  return {
    ...description,
    show: async (variant) => {
      const { demonstrate } = (await import(`./${name}/demo.ts`)) as {
        demonstrate: (module: unknown) => Promise<Seen>
      }
      return demonstrate(await import(`./${name}/${variant}.ts`))
    },
  }
}

export const gallery: readonly Exhibit[] = [
  exhibit({
    name: 'lazy-connection',
    rule: 'H101',
    title: 'A connection is opened twice and closed once',
    check: 15,
    act: 16,
    story:
      'A client opens its session when it is first needed. Two requests arrive right after start-up, both find no session, both open one. The field keeps the last; the other one stays open on the server until it runs out of connections.',
    repair:
      'Keep the promise of the session instead of the session. It is written in the same step as the check, so the second caller finds it.',
  }),
  exhibit({
    name: 'wait-for-job',
    rule: 'H102',
    title: 'A job ends between the question and the subscription',
    check: 18,
    act: 20,
    story:
      'A caller wants to wait for a job that runs elsewhere. It asks whether the job has completed, gets the answer no, and subscribes to its end. The job ended before the answer arrived: the event has passed, and the caller waits for ever.',
    repair: 'Subscribe first, then ask. No event after the subscription is missed.',
  }),
  exhibit({
    name: 'ticket-counter',
    rule: 'H104',
    title: 'A listener buys the ticket that is being sold',
    check: 17,
    act: 19,
    story:
      'A counter notifies its listeners of a sale before it has counted it. A listener that buys a ticket itself finds the same ticket still available. No await is involved: emitting an event calls the listeners at once.',
    repair: 'Count first, then tell.',
  }),
  exhibit({
    name: 'closed-storage',
    rule: 'H201',
    title: 'Cleaning continues in a storage that was closed',
    check: 17,
    act: 20,
    story:
      'A clean-up job gets hold of its storage, waits until the application is idle, and uses the storage. The application was closed in between: idle is what it is while it shuts down.',
    repair: 'Wait first, and look up the storage after the wait.',
  }),
  exhibit({
    name: 'in-flight-map',
    rule: 'H202',
    title: 'An old request forgets the new one',
    check: 14,
    act: 16,
    story:
      'Requests for the same text are shared while they run. A text is invalidated, so a second request is started. When the first one ends it takes the entry of the second one away, and the third caller starts a third request.',
    repair: 'Take the entry away only if it is still your own.',
  }),
  exhibit({
    name: 'lock-registry',
    rule: 'H301',
    title: 'A lock is removed while another caller waits for it',
    check: 16,
    act: 25,
    story:
      'There is a lock for each account, kept in a map and deleted after use so that the map does not grow. A second task waits for the lock that the first one deletes. The third finds no lock and makes a new one: two tasks hold "the" lock of one account, and one booking is lost.',
    repair:
      'Use a lock that counts its waiters: `KeyedMutex` forgets a lock when it is free and no caller waits for it.',
  }),
  exhibit({
    name: 'stuck-refresh',
    rule: 'H303',
    title: 'One failure, and nobody refreshes again',
    check: 17,
    act: 20,
    story:
      'A flag keeps refreshes from overlapping. The connection fails once, the line that clears the flag is never reached, and every later refresh believes that one is running.',
    repair: 'Clear the flag in `finally`.',
  }),
  exhibit({
    name: 'late-socket',
    rule: 'H304',
    title: 'A socket arrives while everything is closed',
    check: 15,
    act: 16,
    story:
      'A listener upgrades a socket and then puts it where `close()` will find it. `close()` is called during the upgrade, closes everything it knows, and the socket is added to an empty set afterwards. The process does not end.',
    repair: 'Look after the upgrade whether `close()` has run, and destroy the late one.',
  }),
  exhibit({
    name: 'forgotten-lock',
    rule: 'H402',
    title: 'One method forgets the lock',
    check: 35,
    act: 35,
    story:
      'A list is saved under a lock, by two of its three methods. The third one clears the list without it, in the middle of an `add()`: what was cleared is back.',
    repair: 'Take the same lock everywhere.',
  }),
  exhibit({
    name: 'overlapping-poll',
    rule: 'H403',
    title: 'A poll overtakes itself',
    check: 22,
    act: 23,
    story:
      'Every second a timer fetches what is new and stores it. The day the disk takes longer than a second, the next round starts before the last one has written down how far it was: changes are stored twice, the disk gets slower, and more rounds pile up.',
    repair: 'Skip a round while one is running; clear the flag in `finally`.',
  }),
  exhibit({
    name: 'cart-total',
    rule: 'H501',
    title: 'Two prices are added, one counts',
    check: 15,
    act: 15,
    story:
      '`this.#total += await price` reads the total before the await and writes it after. Two items are put into the cart at once, both start from the same total, and one price is lost.',
    repair: 'Await the price first, then read and write in one step.',
  }),
  exhibit({
    name: 'route-reload',
    rule: 'H502',
    title: 'A reload answers 404',
    check: 13,
    act: 15,
    story:
      'A table of routes is emptied and filled again when its file changes. Between the two the file is read; requests that arrive during the read find an empty table.',
    repair: 'Make the new table beside the old one, and exchange them in one step.',
  }),
]
