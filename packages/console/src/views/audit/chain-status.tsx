import type { AuditChain } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { useLive } from '../../address/live';
import { auditChainQuery } from '../../api/audit';
import { CopyButton } from '../../parts/copy';
import { Loaded } from '../../parts/loaded';
import { formatCount } from '../../text/format';
import { TimeAgo } from '../../text/time';

/** Whether the chain of the audit log is intact. Only for tokens of the whole organization. */
export function ChainStatus() {
  const { refetchInterval } = useLive();
  const chain = useQuery({ ...auditChainQuery, refetchInterval });
  return (
    <Loaded query={chain} lines={1}>
      {(data) => (data.fault ? <Broken chain={data} fault={data.fault} /> : <Intact chain={data} />)}
    </Loaded>
  );
}

function Intact({ chain }: { chain: AuditChain }) {
  if (chain.entries === 0) return null;
  return (
    <p className="chain" role="status">
      <span className="tag ok">Chain intact</span>
      <span>{checkedText(chain)}</span>
      <span className="soft">
        Last hash <code title={chain.head}>{chain.head.slice(0, 12)}…</code>{' '}
        <CopyButton text={chain.head} what="the last hash" /> · checked <TimeAgo at={chain.checked_at} />
      </span>
    </p>
  );
}

function checkedText({ checked, entries }: AuditChain): string {
  if (checked < entries) {
    return `The newest ${formatCount(checked)} of ${formatCount(entries)} entries are unaltered.`;
  }
  return entries === 1
    ? 'The only entry is unaltered.'
    : `All ${formatCount(entries)} entries are unaltered.`;
}

const faults = {
  altered: 'An entry was altered.',
  missing: 'An entry was removed.',
  added: 'An entry was added.',
  unknown_end: 'The record of where the chain ends was removed.',
};

function Broken({ chain, fault }: { chain: AuditChain; fault: NonNullable<AuditChain['fault']> }) {
  return (
    <div className="note" role="alert">
      <b>The chain is broken. {faults[fault.kind]}</b>
      <p>
        Position {formatCount(fault.position)}
        {fault.id && (
          <>
            , <code>{fault.id}</code>
          </>
        )}
        . Compare the log with a backup. Checked <TimeAgo at={chain.checked_at} />.
      </p>
    </div>
  );
}
