import { useQuery } from '@tanstack/react-query';
import { useEffect, useId, useRef, useState } from 'react';
import { eventTypesQuery } from '../api/events';
import { Chip } from '../lists/filters';
import { Check, Remark } from '../parts/form';
import { Loaded } from '../parts/states';
import { rich, t } from '../text/language';
import { WithCode } from '../text/type-name';

const domainOf = (type: string) => type.slice(0, type.indexOf('.'));

/** Returns the patterns with one added. Removes patterns that the new one includes or that include it. */
function added(chosen: readonly string[], pattern: string): string[] {
  if (pattern === '*') return ['*'];
  const others = chosen.filter((one) => one !== '*');
  const isDomain = pattern.endsWith('.*');
  return [...others.filter((one) => !isDomain || domainOf(one) !== domainOf(pattern)), pattern];
}

/** Chooses event types from the catalogue: all, whole domains, or single ones. */
export function TypePicker({
  chosen,
  onChange,
  fault,
  onShowSample,
}: {
  chosen: string[];
  onChange: (types: string[]) => void;
  fault: string | undefined;
  onShowSample?: (type: string) => void;
}) {
  const query = useQuery(eventTypesQuery);
  const { data: types } = query;
  const [text, setText] = useState('');
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const isLoaded = types !== undefined;
  // The first choice can be far down the catalogue.
  useEffect(() => {
    const first = isLoaded && list.current?.querySelector('input:checked')?.closest('fieldset');
    if (first && list.current) list.current.scrollTop = first.offsetTop - 6;
  }, [isLoaded]);
  const isAll = chosen.includes('*');
  const matching = (types ?? []).filter(({ type, description }) =>
    `${type} ${description}`.toLowerCase().includes(text.toLowerCase()),
  );
  const domains = Map.groupBy(matching, ({ type }) => domainOf(type));

  function toggle(pattern: string, isOn: boolean): void {
    onChange(isOn ? added(chosen, pattern) : chosen.filter((one) => one !== pattern));
  }

  return (
    <div className="field">
      <span className="label" id={id}>
        {rich`Event types ${<span className="soft small">{isAll ? t`all, including future ones` : chosen.length === 0 ? t`none yet` : ''}</span>}`}
      </span>
      {!isAll && chosen.length > 0 && (
        <div className="chips">
          {chosen.map((type) => (
            <Chip key={type} name="" value={type} onRemove={() => toggle(type, false)} />
          ))}
        </div>
      )}
      {/* biome-ignore lint/a11y/useSemanticElements: the fieldsets are the domains inside */}
      <div className="types" role="group" aria-labelledby={id}>
        <input
          type="search"
          aria-label={t`Search event types`}
          placeholder={t`Search by name or description`}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <div className="list" ref={list}>
          {!types && (
            <Loaded query={query} lines={5}>
              {() => null}
            </Loaded>
          )}
          {text === '' && types && (
            <Check className="domain" checked={isAll} onChange={(isOn) => toggle('*', isOn)}>
              {rich`All events ${<code>*</code>}`}
            </Check>
          )}
          {[...domains].map(([domain, ofDomain]) => {
            const whole = `${domain}.*`;
            const isWhole = isAll || chosen.includes(whole);
            return (
              <fieldset key={domain}>
                <legend className="hidden-visually">{domain}</legend>
                <Check
                  className="domain"
                  checked={isWhole}
                  disabled={isAll}
                  onChange={(isOn) => toggle(whole, isOn)}
                >
                  <code>{whole}</code>
                </Check>
                {ofDomain.map(({ type, description }) => (
                  <label className="check one" key={type} onMouseEnter={() => onShowSample?.(type)}>
                    <input
                      type="checkbox"
                      checked={isWhole || chosen.includes(type)}
                      disabled={isWhole}
                      onFocus={() => onShowSample?.(type)}
                      onChange={(event) => toggle(type, event.target.checked)}
                    />
                    <span>
                      <code>{type}</code>
                      <span className="what">
                        <WithCode text={description} />
                      </span>
                    </span>
                  </label>
                ))}
              </fieldset>
            );
          })}
          {types && matching.length === 0 && <p className="soft">{t`No matching event types.`}</p>}
        </div>
      </div>
      <Remark fault={fault} />
    </div>
  );
}
