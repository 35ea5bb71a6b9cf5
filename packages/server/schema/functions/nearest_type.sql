-- Returns the type of the catalogue with the most similar name: the one that shares the largest part of its sequences of
-- three characters.
create or replace function posthorn.nearest_type(name text) returns text
language sql stable as $$
  with sequences as (
    select w.type, w.wanted, substr(w.word, i, 3) as three
      from (select null::text as type, true as wanted, '  ' || left(lower(name), 200) || ' ' as word
             union all
            select type, false, '  ' || type || ' ' from posthorn.event_types
             where in_use and type not like 'webhook.%') w
     cross join generate_series(1, length(w.word) - 2) i
     group by 1, 2, 3
  )
  select t.type
    from sequences t
    left join sequences s on s.wanted and s.three = t.three
   where not t.wanted
   group by t.type
   order by count(s.three) / (count(*) + (select count(*) from sequences where wanted))::numeric desc, t.type
   limit 1;
$$;
