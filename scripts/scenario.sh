#!/usr/bin/env bash
# Plays a small e-commerce shop against a running server: three partitioned databases (products, users, orders), their
# documents, every query of one partition, product search, and three global indexes. Prints each call and its reply;
# stops with an error at the first reply that has not the expected status. The script creates the databases: existing
# ones of the same name are refused unless --reset is given.
#
#   scripts/scenario.sh [--reset] [--keep] [--record DIR] [URL]
#
#   URL            default $OCTAVO_URL or http://127.0.0.1:5984; may hold user:password@
#   --reset        delete the three databases first
#   --keep         leave them in place at the end (default; --clean deletes them)
#   --record DIR   also write each reply's body to DIR/<name>.json
# shellcheck disable=SC2016  # $gte and its like are for the server, not for the shell
set -euo pipefail

url=${OCTAVO_URL:-http://127.0.0.1:5984}
reset=0 clean=0 record=
while (($#)); do
  case $1 in
    --reset) reset=1 ;;
    --clean) clean=1 ;;
    --keep) clean=0 ;;
    --record) record=${2:?--record needs a folder}; shift ;;
    -h | --help) sed -n '2,/^# shellcheck/{/^# shellcheck/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    -*) echo "scenario.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
    *) url=$1 ;;
  esac
  shift
done
url=${url%/}
[[ -z $record ]] || mkdir -p "$record"
reply=$(mktemp)
trap 'rm -f "$reply"' EXIT

if [[ -t 1 ]]; then bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' plain=$'\e[0m'; else bold='' dim='' red='' plain=''; fi
pretty() { if command -v jq >/dev/null; then jq . "$reply" 2>/dev/null || cat "$reply"; else cat "$reply"; fi; }

title() { printf '\n%s== %s ==%s\n' "$bold" "$*" "$plain"; }

# call NAME EXPECTED-STATUSES METHOD PATH [BODY]: one request. EXPECTED-STATUSES is a list like "201|202".
call() {
  local name=$1 expected=$2 method=$3 path=$4 body=${5-} status
  local arguments=(--silent --show-error --max-time 60 --output "$reply" --write-out '%{http_code}' --request "$method")
  [[ -z $body ]] || arguments+=(--header 'Content-Type: application/json' --data-binary "$body")
  printf '\n%s%s %s%s\n' "$bold" "$method" "$path" "$plain"
  [[ -z $body ]] || printf '%s%s%s\n' "$dim" "$body" "$plain"
  status=$(curl "${arguments[@]}" "$url$path") || { echo "${red}no reply from $url$plain" >&2; exit 1; }
  printf -- '-> %s\n' "$status"
  pretty
  [[ -z $record ]] || cp "$reply" "$record/$name.json"
  if [[ "|$expected|" != *"|$status|"* ]]; then
    printf '%s%s %s: expected %s, got %s%s\n' "$red" "$method" "$path" "$expected" "$status" "$plain" >&2
    exit 1
  fi
}

title "The server"
call welcome 200 GET /

if ((reset)); then
  title "Away with what an earlier run left"
  for database in products users orders; do call "reset-$database" '200|202|404' DELETE "/$database"; done
fi

title "Three partitioned databases"
for database in products users orders; do
  call "create-$database" '201|202' PUT "/$database?partitioned=true"
  call "info-$database" 200 GET "/$database"
done

title "Products: a partition per category"
call put-product '201|202' PUT /products/Home%23Kitchen%23Small%20Appliances%3A1000042 '{
  "type": "product",
  "taxonomy": ["Home", "Kitchen", "Small Appliances"],
  "keywords": ["Salter", "Scales", "Weight", "Digital", "Kitchen"],
  "productid": "1000042",
  "brand": "Salter",
  "name": "Digital Kitchen Scales",
  "description": "Slim Colourful Design Electronic Cooking Appliance for Home / Kitchen, Weigh up to 5kg + Aquatronic for Liquids ml + fl. oz. 15Yr Guarantee - Green",
  "colours": ["red", "green", "black", "blue"],
  "price": 14.99,
  "delivery": 0,
  "image": "assets/img/0gmsnghhew.jpg"
}'

title "Users: a partition per user"
call post-user-auth '201|202' POST /users '{
  "_id": "user19952622:auth",
  "type": "user",
  "userid": "user19952622",
  "name": "Bob Smith",
  "email": "bob.smith@aol.com",
  "password": "1f6b5d0e151388786d3820cded9408e2",
  "salt": "43614d9b1dec23da34a5b6f4eb71fb59",
  "active": true,
  "email_verified": true
}'
call put-user-delivery1 '201|202' PUT /users/user19952622:delivery1 '{
  "type": "userdelivery",
  "userid": "user19952622",
  "name": "home",
  "address": "19 Front Street, Darlington, DL5 1TY",
  "default": true
}'
call put-user-delivery2 '201|202' PUT /users/user19952622:delivery2 '{
  "type": "userdelivery",
  "userid": "user19952622",
  "name": "work",
  "address": "22 Central Tower, Newcastle, NE1 4JD",
  "default": false
}'

title "Orders: a partition per order, written at once"
call bulk-order '201|202' POST /orders/_bulk_docs '{"docs": [
  {
    "_id": "order555:order",
    "type": "order",
    "user": "Bob Smith",
    "orderid": "order555",
    "userid": "user19952622",
    "basket": ["Salter - Digital Kitchen Scales", "Kenwood - Stand Mixer"],
    "total": "214.98",
    "deliveryAddress": "19 Front Street, Darlington, DL5 1TY",
    "date": "2019-01-28T10:44:22.000Z"
  },
  {
    "_id": "order555:item1",
    "type": "orderlineitem",
    "orderid": "order555",
    "userid": "user19952622",
    "productid": "1000042",
    "name": "Salter - Digital Kitchen Scales",
    "quantity": 1,
    "unitPrice": 14.99,
    "delivery": 0
  },
  {
    "_id": "order555:item2",
    "type": "orderlineitem",
    "orderid": "order555",
    "userid": "user19952622",
    "productid": "88752",
    "name": "Kenwood - Stand Mixer",
    "quantity": 1,
    "unitPrice": 199.99,
    "delivery": 0
  },
  {
    "_id": "order555:payment",
    "type": "orderpayment",
    "orderid": "order555",
    "userid": "user19952622",
    "paid": "true",
    "provider": "PayPal",
    "provider_ref": "PayPal161619885998772",
    "date": "2019-01-28T10:45:27.000Z",
    "total": "214.98"
  },
  {
    "_id": "order555:dispatch",
    "type": "orderdispatch",
    "orderid": "order555",
    "userid": "user19952622",
    "dispatched": "true",
    "date": "2019-01-28T16:02:00.000Z",
    "courier": "UPS",
    "courierid": "15125425151261289"
  },
  {
    "_id": "order555:delivery",
    "type": "orderdelivery",
    "orderid": "order555",
    "userid": "user19952622",
    "delivered": "true",
    "courier": "UPS",
    "courierid": "15125425151261289"
  }
]}'

title "Products of a category"
category=/products/_partition/Home%23Kitchen%23Small%20Appliances
call partition-info-category 200 GET "$category"
call find-category 200 POST "$category/_find" '{"selector": {}, "limit": 100}'
call all-docs-category 200 GET "$category/_all_docs"

title "Product search: within a category, and in all of them"
words='function(doc) {
  if (doc.type == \"product\") {
    var words = doc.taxonomy.join(\" \") + doc.keywords.join(\" \") + doc.brand + \" \" +
                doc.name + \" \" + doc.description + \" \" + doc.colours.join(\" \");
    index(\"default\", words, { store: false, index: true });
  }
}'
words=${words//$'\n'/\\n}
call put-search-design '201|202' PUT /products/_design/mydesigndoc \
  "{\"indexes\": {\"mysearchindex\": {\"index\": \"$words\"}}}"
call put-global-search-design '201|202' PUT /products/_design/alldesigndoc \
  "{\"indexes\": {\"mysearchindex\": {\"index\": \"$words\"}}, \"options\": {\"partitioned\": false}}"
call search-category 200 GET "$category/_design/mydesigndoc/_search/mysearchindex?q=salter+scales+red"
call search-products 200 GET '/products/_design/alldesigndoc/_search/mysearchindex?q=salter+scales+red'

title "All of an order, its line items, its head"
call partition-info-order 200 GET /orders/_partition/order555
call all-docs-order 200 GET /orders/_partition/order555/_all_docs
call all-docs-order-with-docs 200 GET '/orders/_partition/order555/_all_docs?include_docs=true'
call find-line-items 200 POST /orders/_partition/order555/_find \
  '{"selector": {"type": "orderlineitem"}, "limit": 100, "execution_stats": true}'
call get-order 200 GET /orders/order555:order

title "A user and the default address"
call all-docs-user 200 GET /users/_partition/user19952622/_all_docs
call find-default-address 200 POST /users/_partition/user19952622/_find \
  '{"selector": {"type": "userdelivery", "default": true}, "fields": ["address"]}'

title "Global index: orders by customer"
call index-orders-by-customer 200 POST /orders/_index '{
  "index": {
    "partial_filter_selector": {"type": "order"},
    "fields": ["userid", "date"]
  },
  "ddoc": "orders-by-customer-index",
  "type": "json",
  "partitioned": false
}'
by_customer='{
  "selector": {"type": "order", "userid": "user19952622"},
  "use_index": "orders-by-customer-index",
  "execution_stats": true
}'
call find-orders-by-customer 200 POST /orders/_find "$by_customer"
call explain-orders-by-customer 200 POST /orders/_explain "$by_customer"

title "Global index: orders by time"
call index-orders-by-date 200 POST /orders/_index '{
  "index": {
    "partial_filter_selector": {"type": "order"},
    "fields": ["date"]
  },
  "ddoc": "orders-by-date",
  "type": "json",
  "partitioned": false
}'
by_date='{
  "selector": {"type": "order", "date": {"$gte": "2019-01-01", "$lt": "2019-02-01"}},
  "use_index": "orders-by-date",
  "execution_stats": true
}'
call find-orders-by-date 200 POST /orders/_find "$by_date"
call explain-orders-by-date 200 POST /orders/_explain "$by_date"
call find-orders-by-date-sorted 200 POST /orders/_find '{
  "selector": {"type": "order", "date": {"$gte": "2019-01-01"}},
  "sort": [{"date": "desc"}],
  "use_index": "orders-by-date",
  "execution_stats": true
}'
call list-order-indexes 200 GET /orders/_index

title "Sales report: orders by year, month and day"
call bulk-more-orders '201|202' POST /orders/_bulk_docs '{"docs": [
  {"_id": "order556:order", "type": "order", "date": "2019-01-29T09:00:00.000Z", "total": "20.00"},
  {"_id": "order557:order", "type": "order", "date": "2019-02-14T12:30:00.000Z", "total": "99.99"},
  {"_id": "order558:order", "type": "order", "date": "2020-02-01T18:15:00.000Z", "total": "5.50"}
]}'
# Orders keep their totals as text, and only numbers can be summed up.
call put-sales-report '201|202' PUT /orders/_design/report '{
  "options": {"partitioned": false},
  "views": {
    "sales": {
      "map": "function(doc) {\n  if (doc.type == \"order\") {\n    // turn the date string into a Date object\n    var date = new Date(doc.date);\n    // extract the date parts\n    var year = date.getFullYear();\n    var month = date.getMonth() + 1; // months go 0-11\n    var day = date.getDate();\n    // emit the key and value\n    emit([year,month,day], parseFloat(doc.total));\n  }\n}",
      "reduce": "_sum"
    }
  }
}'
sales=/orders/_design/report/_view/sales
call sales-total 200 GET "$sales"
call sales-by-year 200 GET "$sales?group_level=1"
call sales-by-month 200 GET "$sales?group_level=2"
call sales-by-day 200 GET "$sales?group_level=3"
call sales-of-january 200 GET "$sales?startkey=%5B2019,1%5D&endkey=%5B2019,1,%7B%7D%5D"
call sales-of-january-in-full 200 GET "$sales?startkey=%5B2019,1%5D&endkey=%5B2019,1,%7B%7D%5D&reduce=false"

title "Global index: users by e-mail address"
call index-users-by-email 200 POST /users/_index '{
  "index": {
    "partial_filter_selector": {"type": "user", "active": true, "email_verified": true},
    "fields": ["email"]
  },
  "ddoc": "users-by-email",
  "type": "json",
  "partitioned": false
}'
by_email() {
  printf '{
  "selector": {"type": "user", "active": true, "email_verified": true, "email": "%s"},
  "use_index": "users-by-email",
  "fields": ["userid", "password", "salt"],
  "execution_stats": true
}' "$1"
}
call find-user-by-email 200 POST /users/_find "$(by_email bob.smith@aol.com)"
call find-user-by-unknown-email 200 POST /users/_find "$(by_email joe@aol.com)"
call explain-users-by-email 200 POST /users/_explain "$(by_email bob.smith@aol.com)"

if ((clean)); then
  title "Cleaning up"
  for database in products users orders; do call "delete-$database" '200|202' DELETE "/$database"; done
fi

printf '\n%sThe scenario ran as expected against %s.%s\n' "$bold" "${url/\/\/*@//\/…@}" "$plain"
