/**
 * Looks up a failure by the reference that a client was given. The reference is in the address: the page can be shared.
 */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { address, setQuery } from '../../app/address.ts'
import { icons } from '../../parts/icons.tsx'
import { Failure } from './failure.tsx'

export function LookUp(): JSX.Element {
  const reference = address.value.query['reference']
  const typed = useSignal(reference ?? '')
  return (
    <section class="card">
      <header>
        <h2>Look up a failure</h2>
      </header>
      <div class="body stack">
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault()
            setQuery({ reference: typed.value.trim() || undefined })
          }}
        >
          <label class="search grow">
            {icons.search}
            <span class="sr">Reference</span>
            <input
              class="input"
              type="search"
              placeholder="The reference that the client got"
              value={typed.value}
              onInput={(event) => (typed.value = event.currentTarget.value)}
            />
          </label>
          <button class="button" type="submit">
            Look up
          </button>
        </form>
        {reference !== undefined && <Failure key={reference} reference={reference} />}
      </div>
    </section>
  )
}
